"""Analysis of shell commands without running them: `scan` finds their effects; `../command_decision.py` applies the rules."""
