"""The files and variables that settings come from, and their formats."""
