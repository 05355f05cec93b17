"""`opencode-tui debug` and its commands."""
