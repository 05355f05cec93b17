"""Safe reads and writes of files for tools."""
