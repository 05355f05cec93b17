"""The command line: parses arguments, runs one command, returns the exit code."""
