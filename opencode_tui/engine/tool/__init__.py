"""The tools of the model: `builtin` has one module and one `.md` for each; the other packages are their shared code.

Tools write files through `files/files.py` only. A tool's module is imported at its first call. Start at `registry.py`;
guards: `tests/engine/tool/`.
"""
