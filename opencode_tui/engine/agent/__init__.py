"""Agents: their prompts, models and permissions; the seven built-in ones and those of the settings."""
