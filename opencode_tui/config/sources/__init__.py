"""Where settings come from, and how each kind of file is read."""
