"""Where it runs: this machine, one GPU, a Ray cluster. The same questions asked of the same two clouds."""
