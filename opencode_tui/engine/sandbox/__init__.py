"""Run commands confined by the operating system: what they may reach, how they start, and what they were refused."""
