"""The prompt: editor, history, completions, attachments."""
