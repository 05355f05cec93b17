"""Colours and glyphs of the screen, as values that know nothing of a widget."""
