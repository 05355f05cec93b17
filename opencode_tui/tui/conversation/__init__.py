"""The conversation: one widget that draws lines, blocks that are laid out once, a renderer for each tool."""
