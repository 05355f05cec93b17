"""The project of a folder: its repository, ID and record."""
