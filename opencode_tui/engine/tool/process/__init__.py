"""Shell commands: start, read, and kill with all their child processes."""
