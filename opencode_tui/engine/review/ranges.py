"""The changes that a name stands for: the work tree, a commit, what a branch has, a range."""

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.review.changes import DIFF_OPTIONS, piece_of, read_changes
from opencode_tui.engine.review.patch import split_diff
from opencode_tui.schema.api.findings import ReviewedChanges
from opencode_tui.schema.error import ConfigError, GitUnavailableError

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


async def read_named(git: SafeGit, repository: Repository, name: str) -> ReviewedChanges:
    """Return the changes that a name stands for; those of the work tree for an empty one.

    `A..B` are those between two commits, `A...B` those of B since they parted, the name of a branch those of the present commit
    since it parted from that, and another name those of one commit. Raises ConfigError for an unknown name.
    """
    if not name:
        changes = await read_changes(git, repository)
        return ReviewedChanges(name="the work tree", files=changes.files)
    first, last = await _ends(git, name)
    more = dict(await git.without_filters(repository))
    output = await git.run("diff", *DIFF_OPTIONS, first, last, "--", more=more)
    pieces = (piece_of(raw, "committed", "") for raw in split_diff(output))
    return ReviewedChanges(name=name, head=last, files=[piece.shown for piece in pieces])


async def _ends(git: SafeGit, name: str) -> tuple[str, str]:
    """Return the tree or commit before the changes, and the commit after them."""
    for dots in ("...", ".."):
        before, found, after = name.partition(dots)
        if found:
            first, last = await _commit(git, before or "HEAD"), await _commit(git, after or "HEAD")
            return (await _base(git, first, last) if dots == "..." else first), last
    for kind in ("heads", "remotes"):
        if await git.run("for-each-ref", "--format=%(refname)", "--count=1", f"refs/{kind}/{name}"):
            head = await _commit(git, "HEAD")
            return await _base(git, await _commit(git, f"refs/{kind}/{name}"), head), head
    commit = await _commit(git, name)
    parents = (await git.run("rev-list", "--parents", "--max-count=1", commit)).split()[1:]
    return parents[0] if parents else _EMPTY_TREE, commit


async def _commit(git: SafeGit, name: str) -> str:
    try:
        return (await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")).strip()
    except GitUnavailableError as error:
        raise ConfigError(f"there is no commit {name!r}; name a commit, a branch or a range") from error


async def _base(git: SafeGit, first: str, last: str) -> str:
    try:
        return (await git.run("merge-base", first, last)).split()[0]
    except (GitUnavailableError, IndexError) as error:
        raise ConfigError(f"{first[:8]} and {last[:8]} have no common commit; name a range A..B") from error
