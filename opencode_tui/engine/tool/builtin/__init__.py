"""The built-in tools: one module and one `.md`, the description for the model, for each."""
