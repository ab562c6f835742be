"""What `advise` goes by: how much two models have in common, how well each way searches, and which way to take."""
