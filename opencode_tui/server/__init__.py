"""The HTTP server: OpenCode's routes and event stream over the client facets. Imports `client` and `schema` only."""
