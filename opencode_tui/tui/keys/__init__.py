"""Keys: the map of keys to actions, and the router that every key goes through."""
