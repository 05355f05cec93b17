"""Language servers: diagnostics after edits, symbols, definitions and references."""
