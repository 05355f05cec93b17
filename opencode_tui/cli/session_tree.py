"""Sessions as a tree: forks and the sessions of agents below what they came from."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from opencode_tui.schema.session import SessionInfo


class Twig(Struct, frozen=True):
    """A session in the tree; `branch` are the lines before it, `kind` is empty, `fork` or `agent`."""

    info: SessionInfo
    branch: str
    kind: str


def grow_tree(infos: Sequence[SessionInfo]) -> list[Twig]:
    """Return all sessions, top to bottom, the last used first on every level.

    What came from none that still exists stands at the top, as does one of a circle that a damaged record made.
    """
    known = {info.id for info in infos}
    newest_first = sorted(infos, key=lambda info: info.time.updated, reverse=True)
    below: dict[str, list[SessionInfo]] = {}
    for info in newest_first:
        below.setdefault(_origin(info) if _origin(info) in known else "", []).append(info)
    twigs: list[Twig] = []
    seen: set[str] = set()
    for info in [*below.get("", []), *newest_first]:
        if info.id not in seen:
            twigs.extend(_grow(info, below, seen, lead="", branch=""))
    return twigs


def _grow(
    info: SessionInfo, below: dict[str, list[SessionInfo]], seen: set[str], *, lead: str, branch: str
) -> Iterator[Twig]:
    seen.add(info.id)
    yield Twig(info, lead + branch, _kind(info))
    lead += {"": "", "└ ": "  ", "├ ": "│ "}[branch]
    children = [child for child in below.get(info.id, []) if child.id not in seen]
    for child in children:
        if child.id not in seen:
            yield from _grow(child, below, seen, lead=lead, branch="└ " if child is children[-1] else "├ ")


def _origin(info: SessionInfo) -> str:
    if info.parent_id:
        return info.parent_id
    forked: Any = (info.metadata or {}).get("forkedFrom")
    return str(cast("dict[str, object]", forked).get("sessionID", "")) if isinstance(forked, dict) else ""


def _kind(info: SessionInfo) -> str:
    return "agent" if info.parent_id else "fork" if _origin(info) else ""
