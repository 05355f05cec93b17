"""The headless agent: sessions, prompt loop, tools, providers. Imports no UI library."""
