"""Formatters that run on an edit before it is written."""
