"""Slash commands: named prompts, built in, from the settings, or from skills."""
