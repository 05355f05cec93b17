"""Finding files and lines in a folder."""
