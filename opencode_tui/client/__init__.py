"""The API of the engine: Protocols in `client` and `facets`, one implementation in the process, one over HTTP."""
