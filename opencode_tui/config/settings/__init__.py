"""Every key of the settings with its type."""
