"""Slash commands: prompts with a name, built in, from the settings, or from skills."""
