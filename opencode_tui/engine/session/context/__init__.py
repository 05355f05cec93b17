"""What the next request carries, item by item, for the context view and `debug context`."""
