"""What a repository may start, and whether it is trusted."""
