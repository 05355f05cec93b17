"""The API of the engine in facets of a few methods each, as Protocols: of sessions and of the folder."""
