"""What a provider's error means: its body (`body.py`), its cause (`cause.py`), and the remedy (`remedy.py`)."""
