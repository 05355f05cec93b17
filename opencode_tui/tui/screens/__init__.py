"""Full screens, each with its `.tcss` file."""
