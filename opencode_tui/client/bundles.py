"""Git bundles and the folders of their clones without an engine, for tasks that run on other machines."""

from opencode_tui.engine.project.bundle import clone_bundle, create_bundle, find_worktree, has_commit
from opencode_tui.storage.task_folders import delete_folder

__all__ = ["clone_bundle", "create_bundle", "delete_folder", "find_worktree", "has_commit"]
