"""Recording what a step does to files."""
