"""Files on disk: written whole or not at all, locked, mapped, and cleared away only by whom they belong to."""
