"""Finds, lists and reads files of the project folder for the clients. Tools have their own file access."""
