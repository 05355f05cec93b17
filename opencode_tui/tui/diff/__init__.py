"""Diffs: rows as cells, layout, headings."""
