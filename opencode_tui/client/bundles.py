"""Git bundles without an engine, for tasks that run on other machines."""

from opencode_tui.engine.project.bundle import clone_bundle, create_bundle, find_worktree, has_commit

__all__ = ["clone_bundle", "create_bundle", "find_worktree", "has_commit"]
