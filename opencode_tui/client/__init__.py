"""The API of the engine for the faces: Protocols in `client` and `facets`, one implementation in the process, one over HTTP."""
