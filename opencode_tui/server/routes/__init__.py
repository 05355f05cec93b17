"""The routes, one module for each noun; `server/request.py` and `server/answer.py` have the shared code."""
