"""Publishes a session to a share server and keeps it up to date."""
