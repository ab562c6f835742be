"""Span linking, the default."""
