"""The Agent Client Protocol: editors use the engine over standard input and output."""
