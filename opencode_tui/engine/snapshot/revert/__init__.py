"""Revert of files: the plan for each path, its execution, and the journal that makes it atomic."""
