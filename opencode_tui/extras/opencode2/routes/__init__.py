"""Routes of OpenCode 2's API, a module for each of its topics. What they share: `extras/opencode2/`."""
