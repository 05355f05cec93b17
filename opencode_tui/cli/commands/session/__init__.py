"""`opencode-tui session` and its commands."""
