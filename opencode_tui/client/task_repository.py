"""The repository of batch tasks, for the clients that run and read them."""

from opencode_tui.engine.file.task_repository import (
    TaskRepository,
    TaskWorktree,
    WorktreeChanges,
    open_repository,
    remove_leftovers,
)

__all__ = ["TaskRepository", "TaskWorktree", "WorktreeChanges", "open_repository", "remove_leftovers"]
