"""Parts that few sessions use, one folder each. Only `opencode_tui.entry_points` loads them."""
