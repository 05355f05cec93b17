"""The words and figures that both the screen and the command line show, as plain values: no widget, no terminal."""
