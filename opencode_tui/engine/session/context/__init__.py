"""The items of the next request, for the context view and `debug context`."""
