"""The tools of the model: `builtin` has one module and one `.md` for each; the other packages are their shared code."""
