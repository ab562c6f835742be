"""Linkers: from two collections and anchors to links."""
