"""Analysis of shell commands without running them: `scan` finds their effects, `decide` applies the rules."""
