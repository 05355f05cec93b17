"""One module for each command: its options and what it does."""
