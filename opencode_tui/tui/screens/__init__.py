"""Whole screens; each with its `.tcss` beside it."""
