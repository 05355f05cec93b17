"""Shapes of requests and answers: what a client sends and receives."""
