"""What a shell command would do, told without running it: `scan` for the facts, `decide` for what the rules make of them."""
