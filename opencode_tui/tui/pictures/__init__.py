"""Pictures of messages and calls: read and scaled in a thread, in the form that the terminal shows.

Nothing here is imported before the first picture is drawn, and Pillow (the extra `images`) only for what is decoded.
A picture comes from a model or a repository: its size is read from its header before anything is decoded. Start at `forms.py`;
the cells that a terminal draws itself are written by `tui/output/painter.py`. Guards: `tests/tui/pictures/`.
"""
