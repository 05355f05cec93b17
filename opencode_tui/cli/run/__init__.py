"""`opencode-tui run`: one turn without the TUI: its request, progress report and questions."""
