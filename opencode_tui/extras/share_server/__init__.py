"""A server for shared sessions, which anyone can run: OpenCode's protocol, and a live page for each session."""
