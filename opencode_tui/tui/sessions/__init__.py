"""Lists of sessions: one list model (`session_list.py`), shown by the sidebar, the session browser and the sessions page."""
