"""The commands: one module each, with its options and its work."""
