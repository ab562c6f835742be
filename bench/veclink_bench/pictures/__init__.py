"""The pictures of the documentation, made again."""
