"""The settings: one typed field for each key."""
