"""Checks of settings: types, consistency, unknown keys, the JSON schema."""
