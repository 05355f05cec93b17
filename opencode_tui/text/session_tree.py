"""Sessions as a tree: forks and the sessions of agents below what they came from."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from opencode_tui.schema.session.session import SessionInfo, fork_origin


class TreeRow(Struct, frozen=True):
    """A session in the tree; `branch` are the lines before it, `kind` is empty, `fork` or `agent`."""

    info: SessionInfo
    branch: str
    kind: str


def build_tree(infos: Sequence[SessionInfo]) -> list[TreeRow]:
    """Return all sessions, top to bottom, the last used first on every level.

    What came from none that still exists is at the top, as does one of a circle that a damaged record made.
    """
    known = {info.id for info in infos}
    newest_first = sorted(infos, key=lambda info: info.time.updated, reverse=True)
    below: dict[str, list[SessionInfo]] = {}
    for info in newest_first:
        below.setdefault(origin_of(info) if origin_of(info) in known else "", []).append(info)
    rows: list[TreeRow] = []
    seen: set[str] = set()
    for info in [*below.get("", []), *newest_first]:
        if info.id not in seen:
            rows.extend(_branch(info, below, seen, lead="", branch=""))
    return rows


def _branch(
    info: SessionInfo, below: dict[str, list[SessionInfo]], seen: set[str], *, lead: str, branch: str
) -> Iterator[TreeRow]:
    seen.add(info.id)
    yield TreeRow(info, lead + branch, _kind(info))
    lead += {"": "", "└ ": "  ", "├ ": "│ "}[branch]
    children = [child for child in below.get(info.id, []) if child.id not in seen]
    for child in children:
        if child.id not in seen:
            yield from _branch(child, below, seen, lead=lead, branch="└ " if child is children[-1] else "├ ")


def origin_of(info: SessionInfo) -> str:
    """Return the session that this one came from: its parent, or the source of a fork; empty without one."""
    if info.parent_id:
        return info.parent_id
    origin = fork_origin(info)
    return origin.session_id if origin is not None else ""


def _kind(info: SessionInfo) -> str:
    return "agent" if info.parent_id else "fork" if origin_of(info) else ""
