"""Colors and glyphs, as values without widgets."""
