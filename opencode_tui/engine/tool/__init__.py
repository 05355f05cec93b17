"""What the model can do: one module and one `.md` (its description for the model) for each tool."""
