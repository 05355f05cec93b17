"""Floor 1: JSON records below the data folder, atomic and crash-safe, with locks between processes."""
