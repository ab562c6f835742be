"""What is linked and what comes out: collections, ids, pairs, links and their files, scores against a truth."""
