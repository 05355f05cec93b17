"""Revert of files: the plan of each path, its execution, the journal that makes it atomic."""
