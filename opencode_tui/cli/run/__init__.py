"""One turn without a screen: the request, the progress report, the questions."""
