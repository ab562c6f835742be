"""How sure a link is: candidates, features, decoys, calibration, threshold, intervals, explanations."""
