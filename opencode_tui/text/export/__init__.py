"""A conversation as a file for people: one page of HTML."""
