"""Where it runs: this machine, one GPU or several, a Ray cluster. The same questions asked of the same two clouds."""
