"""New rows of collections that were linked before: what is kept of a run, and how new rows are judged by it."""
