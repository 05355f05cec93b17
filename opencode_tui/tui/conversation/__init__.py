"""The conversation: one widget that draws lines, blocks that are laid out once, a renderer for each tool.

Drawn lines are cached by item and width. Guards: `tests/tui/conversation/`, `bench_transcript`.
"""
