"""The terminal app, a client of the engine through `client` only.

The first frame imports nothing of ours below this package but `text`; schema and client are imported after it.
"""
