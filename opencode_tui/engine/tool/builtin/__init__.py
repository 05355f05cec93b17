"""The built-in tools: one module and one `.md` (its description for the model) each."""
