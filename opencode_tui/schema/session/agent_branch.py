"""What an agent did in a worktree of its own: a branch, in the metadata of its session."""

from opencode_tui.schema.record import Record, ValidationError, absent
from opencode_tui.schema.session.session import SessionInfo

AGENT_BRANCH_KEY = "agentBranch"


class AgentBranch(Record):
    """The result of an agent: a branch with its changes on top of the commit `base`, which has the files that it began with.

    Without changes `commit` and `branch` are empty. `is_applied`: the session that started the agent has the changes.
    """

    base: str
    commit: str = ""
    branch: str = ""
    files: int = 0
    is_applied: bool | None = absent()


def agent_branch(info: SessionInfo) -> AgentBranch | None:
    """Return the result of an agent with a worktree of its own; None for other sessions and for invalid data."""
    found: object = (info.metadata or {}).get(AGENT_BRANCH_KEY)
    try:
        return None if found is None else AgentBranch.model_validate(found)
    except ValidationError:
        return None


def with_branch(info: SessionInfo, branch: AgentBranch) -> SessionInfo:
    """Return the record of a session with this result."""
    return info.changed(metadata={**(info.metadata or {}), AGENT_BRANCH_KEY: branch.to_dict()})
