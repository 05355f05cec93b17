"""The facet of the changes of a work tree, and of what the user does with them. How facets are written: `call`."""

from typing import Protocol

from opencode_tui.client.facets.call import ours
from opencode_tui.schema.api.findings import ReviewedChanges
from opencode_tui.schema.api.review import CommitMarked, GitReport, NewBranch, PublishPlan, PullRequest, TreeChanges


class ReviewFacet(Protocol):
    """The changes of the work tree. All methods raise ConfigError without a repository, GitUnavailableError."""

    @ours("GET", "/review")
    async def changes(self) -> TreeChanges:
        """Return all changes piece by piece; runs nothing that the repository names."""
        ...

    @ours("GET", "/review/named")
    async def named(self, name: str) -> ReviewedChanges:
        """Return the changes of a commit, of a range `A..B` or `A...B`, or those since the present commit parted from a branch.

        An empty name stands for the work tree. Raises ConfigError for an unknown name.
        """
        ...

    @ours("POST", "/review/commit", waits=True)
    async def commit(self, request: CommitMarked) -> GitReport:
        """Commit marked pieces with the user's hooks and signature; other staged pieces stay staged.

        When git or a hook refuses, nothing is changed and the report has what they printed. Raises ConfigError when a piece is not
        what was shown, or continues a staged one that is not marked.
        """
        ...

    @ours("POST", "/review/message", reads=True, waits=True)
    async def propose_message(self, request: CommitMarked, *, session_id: str | None = None) -> str:
        """Return a message for marked pieces by the small model; empty where a budget has no room, and from the demo.

        The cost is that of the session. Raises ProviderError, AuthError.
        """
        ...

    @ours("POST", "/review/branch")
    async def create_branch(self, request: NewBranch) -> str:
        """Create a branch at the present commit and switch to it; files and index stay. Raises ConfigError for a wrong name."""
        ...

    @ours("GET", "/review/push")
    async def plan_push(self) -> PublishPlan:
        """Return what a push of the present branch would do. Raises ConfigError without a branch, a commit or a remote."""
        ...

    @ours("POST", "/review/push", waits=True)
    async def push(self) -> GitReport:
        """Push the present branch to the branch of its name, which is followed from then on; raises as `plan_push`."""
        ...

    @ours("POST", "/review/pull-request", waits=True)
    async def open_request(self, request: PullRequest) -> GitReport:
        """Open a pull request for the pushed branch by `gh` or `glab`. Raises ConfigError where neither is installed."""
        ...
