"""Installed plugins: packages of skills, commands, agents, hooks and MCP servers that the user reviewed and installed.

Two forms are read: Agent Plugins 1.0.0 and that of Claude Code, with its marketplaces. A package becomes settings and skills like
those of the user's own files, weakest first; nothing of it is run, and no file outside its root is read.
Start at `reader.py`; what fetches packages is `engine/plugin/install.py`. Guards: `tests/config/installed/`.
"""
