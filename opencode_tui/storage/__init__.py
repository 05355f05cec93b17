"""JSON records in the data folder, atomic and crash-safe, with locks between processes."""
