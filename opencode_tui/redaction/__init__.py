"""Finds secrets and personal data in texts and in records of a session, and replaces them."""
