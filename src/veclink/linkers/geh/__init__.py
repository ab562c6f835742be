"""GEH, the paper's linker."""
