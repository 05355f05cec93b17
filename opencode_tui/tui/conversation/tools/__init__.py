"""What is seen of each tool's calls: the line's argument and facts, and the lines below it."""
