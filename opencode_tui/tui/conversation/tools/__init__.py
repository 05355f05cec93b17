"""Renderers of tool calls: the argument and facts of the line, and the lines below it."""
