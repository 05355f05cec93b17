"""Recording the changes of a step to files."""
