"""Lists of sessions: the page and the browser in the place of the sidebar, over the rows of `session_tree`."""
