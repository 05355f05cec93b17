"""The parts around the conversation: header, sidebar, activity line, status line."""
