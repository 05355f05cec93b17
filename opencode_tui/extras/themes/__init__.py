"""Color schemes other than our own."""
