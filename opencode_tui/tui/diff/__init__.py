"""Diffs on the screen: rows as cells, layout, headings."""
