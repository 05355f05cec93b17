"""The routes, one module for each noun; what they share stands in `server/request.py` and `server/answer.py`."""
