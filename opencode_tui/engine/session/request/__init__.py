"""The request to the model: history, system prompt, instructions, attachments, messages."""
