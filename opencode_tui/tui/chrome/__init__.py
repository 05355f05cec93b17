"""The parts around the conversation: title row, sidebar, activity line, status line."""
