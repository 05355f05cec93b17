"""One step: a model request, its tool calls, their changes to files."""
