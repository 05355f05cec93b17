"""Changing a file's text: finding the place, patches, diffs."""
