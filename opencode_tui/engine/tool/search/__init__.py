"""Search for files and lines in a folder."""
