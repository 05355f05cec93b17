"""What is wrong or strange in settings."""
