"""The facets over HTTP. The methods are documented in `facets`."""
