"""Sessions as a tree: forks and the sessions of agents below what they came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from opencode_tui.schema.session.listed import ListedSession


class TreeSigns(Struct, frozen=True):
    """What is before a session: below another one, below it as the last one, and below one that has others after it."""

    branch: str = "├ "
    last_branch: str = "└ "
    rail: str = "│ "


class TreeRow(Struct, frozen=True, gc=False):
    """A session in the tree; `branch` are the lines before it."""

    info: ListedSession
    branch: str
    root: ListedSession
    used: int
    """When a session of the same tree was last updated, in ms since 1970."""


def build_tree(
    infos: Iterable[ListedSession],
    signs: TreeSigns = TreeSigns(),  # noqa: B008 - frozen
) -> list[TreeRow]:
    """Return all sessions, top to bottom, the last used first on every level.

    What came from none that still exists is at the top, as is one of a circle that a damaged record made.
    """
    by_id = sorted(infos, key=attrgetter("id"))  # IDs of sessions descend: of one millisecond the newest is first
    newest = sorted(by_id, key=attrgetter("updated"), reverse=True)
    if not any(info.parent_id or info.fork_of for info in newest):
        # As in most folders, of which some have 100,000 sessions.
        return [TreeRow(root, "", root, root.updated) for root in newest]
    known = {info.id for info in newest}
    below: dict[str, list[ListedSession]] = {}
    roots: list[ListedSession] = []
    for info in newest:
        origin = info.parent_id or info.fork_of
        (below.setdefault(origin, []) if origin and origin in known else roots).append(info)
    tree = _Tree(below, signs)
    rows: list[TreeRow] = []
    for root in [*roots, *newest]:
        if root.id in tree.seen:
            continue
        if root.id in below:
            used = _last_used(root, below)
            rows += [TreeRow(one, branch, root, used) for one, branch in tree.grow(root, lead="", branch="")]
        else:
            tree.seen.add(root.id)
            rows.append(TreeRow(root, "", root, root.updated))
    return rows


class _Tree:
    def __init__(self, below: Mapping[str, Sequence[ListedSession]], signs: TreeSigns) -> None:
        self.seen: set[str] = set()
        self._below = below
        self._signs = signs

    def grow(self, info: ListedSession, *, lead: str, branch: str) -> Iterator[tuple[ListedSession, str]]:
        """Yield a session and its descendants, each with the lines before it."""
        signs = self._signs
        self.seen.add(info.id)
        yield info, lead + branch
        if branch:
            lead += "  " if branch == signs.last_branch else signs.rail
        children = [child for child in self._below.get(info.id, []) if child.id not in self.seen]
        for child in children:
            if child.id not in self.seen:
                arm = signs.last_branch if child is children[-1] else signs.branch
                yield from self.grow(child, lead=lead, branch=arm)


def _last_used(info: ListedSession, below: Mapping[str, Sequence[ListedSession]]) -> int:
    """Return when a session or one of its descendants was last updated."""
    newest, rest, seen = info.updated, [info.id], {info.id}
    while rest:
        for child in below.get(rest.pop(), ()):
            if child.id not in seen:
                seen.add(child.id)
                rest.append(child.id)
                newest = max(newest, child.updated)
    return newest
