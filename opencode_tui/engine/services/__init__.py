"""Builds the engine's services, complete and once each, out of collaborators that are passed explicitly; nothing is global."""
