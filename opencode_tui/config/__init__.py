"""Settings files and OPENCODE_* flags, merged by precedence; trust in a repository's config; credentials."""
