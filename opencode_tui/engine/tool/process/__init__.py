"""Shell commands: started, read, and ended with every process that they started."""
