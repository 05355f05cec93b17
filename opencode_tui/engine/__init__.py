"""The headless agent: sessions, prompt loop, tools, providers. Runs without any screen; never imports `textual` or `rich`."""
