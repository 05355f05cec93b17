"""What the config of a repository can start, and whether the user trusts it."""
