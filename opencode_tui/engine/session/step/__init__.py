"""One step: a model call, its tool calls, what they change."""
