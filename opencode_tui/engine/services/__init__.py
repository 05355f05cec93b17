"""Builds the services of the engine, once each, with explicit collaborators."""
