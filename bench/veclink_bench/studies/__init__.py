"""Studies of veclink on real vectors; each keeps its trials in a results file, and goes on where it stopped."""
