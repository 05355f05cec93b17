"""State without widgets: the current session, its items, the folder, the model."""
