"""Where the person writes: the editor, its history, completions, attachments."""
