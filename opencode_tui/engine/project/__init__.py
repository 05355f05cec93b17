"""Which project a folder belongs to: its repository, its id, its record."""
