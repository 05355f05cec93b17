"""Texts and figures for the TUI and the command line, as plain values."""
