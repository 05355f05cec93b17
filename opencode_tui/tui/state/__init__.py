"""State behind the screen, without widgets: the shown session, its items, the folder, the model."""
