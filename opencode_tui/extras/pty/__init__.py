"""Terminals of the server."""
