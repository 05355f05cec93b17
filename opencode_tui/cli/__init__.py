"""Command line: parse arguments, choose a face, exit code."""
