"""Hostile sessions: what a model that obeys an attacker tries through our own hands, and what it reached."""
