"""Sessions as a tree: forks and the sessions of agents below what they came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from opencode_tui.schema.session.session import SessionInfo, fork_origin


class TreeSigns(Struct, frozen=True):
    """What is before a session: below another one, below it as the last one, and below one that has others after it."""

    branch: str = "├ "
    last_branch: str = "└ "
    rail: str = "│ "


class TreeRow(Struct, frozen=True):
    """A session in the tree; `branch` are the lines before it, `kind` is empty, `fork` or `agent`."""

    info: SessionInfo
    branch: str
    kind: str
    root: SessionInfo
    used: int
    """When a session of the same tree was last updated, in ms since 1970."""


def build_tree(
    infos: Iterable[SessionInfo],
    signs: TreeSigns = TreeSigns(),  # noqa: B008 - frozen
) -> list[TreeRow]:
    """Return all sessions, top to bottom, the last used first on every level.

    What came from none that still exists is at the top, as is one of a circle that a damaged record made.
    """
    by_id = sorted(infos, key=lambda info: info.id)  # IDs of sessions descend: of one millisecond the newest is first
    newest = sorted(by_id, key=lambda info: info.time.updated, reverse=True)
    known = {info.id for info in newest}
    below: dict[str, list[SessionInfo]] = {}
    for info in newest:
        below.setdefault(origin_of(info) if origin_of(info) in known else "", []).append(info)
    tree = _Tree(below, signs)
    rows: list[TreeRow] = []
    for root in [*below.get("", []), *newest]:
        if root.id not in tree.seen:
            used = _last_used(root, below)
            grown = tree.grow(root, lead="", branch="")
            rows += [TreeRow(one, branch, _kind(one), root, used) for one, branch in grown]
    return rows


class _Tree:
    def __init__(self, below: Mapping[str, Sequence[SessionInfo]], signs: TreeSigns) -> None:
        self.seen: set[str] = set()
        self._below = below
        self._signs = signs

    def grow(self, info: SessionInfo, *, lead: str, branch: str) -> Iterator[tuple[SessionInfo, str]]:
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


def _last_used(info: SessionInfo, below: Mapping[str, Sequence[SessionInfo]]) -> int:
    """Return when a session or one of its descendants was last updated."""
    newest, rest, seen = info.time.updated, [info.id], {info.id}
    while rest:
        for child in below.get(rest.pop(), ()):
            if child.id not in seen:
                seen.add(child.id)
                rest.append(child.id)
                newest = max(newest, child.time.updated)
    return newest


def origin_of(info: SessionInfo) -> str:
    """Return the session that this one came from: its parent, or the source of a fork; empty without one."""
    if info.parent_id:
        return info.parent_id
    origin = fork_origin(info)
    return origin.session_id if origin is not None else ""


def _kind(info: SessionInfo) -> str:
    return "agent" if info.parent_id else "fork" if origin_of(info) else ""
