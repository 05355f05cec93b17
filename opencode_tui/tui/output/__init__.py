"""What is written to the terminal: only the cells that changed."""
