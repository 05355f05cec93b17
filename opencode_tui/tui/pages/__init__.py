"""Pages over the chat, on the base class in `page.py`; those that read one list again are on `list_page.py`."""
