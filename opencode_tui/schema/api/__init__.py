"""Types of requests to the client API and of its responses."""
