"""Vectors as geometry: clouds, signatures, projections, neighbourhoods. Knows no device and no store."""
