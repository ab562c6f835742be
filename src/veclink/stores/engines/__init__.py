"""Vectors in databases: one module for each engine."""
