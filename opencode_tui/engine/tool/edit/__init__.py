"""Edits of a file's text: matching, patches, diffs."""
