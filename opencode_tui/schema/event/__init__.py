"""Events, in the types that the bus, the server and the clients share."""
