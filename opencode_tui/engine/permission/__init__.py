"""Permissions: rules and their evaluation, requests to the user, permanent grants, analysis of shell commands."""
