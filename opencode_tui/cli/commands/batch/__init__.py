"""The commands of `opencode-tui batch`."""
