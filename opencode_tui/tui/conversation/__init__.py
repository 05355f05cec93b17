"""The conversation on the screen: one widget that draws lines, blocks that are laid out once, a renderer for each tool."""
