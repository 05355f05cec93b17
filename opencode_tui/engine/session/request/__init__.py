"""What a model is sent: history, system prompt, instructions, attachments, messages."""
