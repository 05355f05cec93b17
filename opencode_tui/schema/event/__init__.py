"""Events: what happened, in the shapes that the bus, the server and the clients share."""
