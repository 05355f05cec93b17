"""The order of a list of sessions, held against a plain definition of it over whole sessions."""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.session_tree import TreeSigns, build_tree
from opencode_tui.tui.sessions.arrangement import Placed, by_folder, day, in_one_folder
from tests.support.terminal.conversation import NOON

SIGNS = TreeSigns()
DAY_MS = 86_400_000

Shown = list[tuple[str, str, str]]


def plainly(infos: Sequence[ListedSession], *, is_archived: bool, group: str = "") -> Shown:
    """Return ID, tree line and group of each session."""
    by_id = {info.id: info for info in infos}

    def hidden(info: ListedSession | None, seen: frozenset[str] = frozenset()) -> bool:
        if info is None or info.id in seen:
            return False
        return info.is_archived or hidden(by_id.get(info.parent_id), seen | {info.id})

    tree = build_tree([info for info in infos if hidden(info) == is_archived], SIGNS)
    tree.sort(key=lambda row: row.used, reverse=True)
    tree.sort(key=lambda row: row.root.is_pinned, reverse=True)
    return [
        (row.info.id, row.branch, group or ("Pinned" if row.root.is_pinned else day(row.used, NOON))) for row in tree
    ]


def shown(placed: Sequence[Placed]) -> Shown:
    return [(one.info.id, one.branch, one.group) for one in placed]


def many(chance: random.Random, count: int) -> list[ListedSession]:
    """Return sessions of which some are pinned, archived, forks or of subagents, of a circle too, some used at one moment."""
    found: list[ListedSession] = []
    for number in range(count):
        updated = NOON - chance.choice([0, 1, 5, 9, 40, 400, 3_000]) * DAY_MS // 2 - chance.randrange(3)
        one = ListedSession(f"ses_{number:03d}", "t", chance.choice(["/a", "/b"]), updated, updated)
        other = f"ses_{chance.randrange(count + 3):03d}"
        match chance.randrange(6):
            case 0:
                one = replace(one, parent_id=other)
            case 1:
                one = replace(one, fork_of=other)
            case 2:
                one = replace(one, is_pinned=True)
            case 3 if chance.randrange(2):
                one = replace(one, is_archived=True)
            case _:
                pass
        found.append(one)
    chance.shuffle(found)
    return found


@pytest.mark.parametrize("is_archived", [False, True])
def test_sessions_are_in_the_order_of_the_plain_definition(is_archived: bool) -> None:
    chance, rows = random.Random(5), 0
    for _ in range(300):
        infos = many(chance, chance.randrange(14))
        placed = shown(in_one_folder(infos, SIGNS, NOON, is_archived=is_archived))
        expected = plainly(infos, is_archived=is_archived)
        assert sorted(placed) == sorted(expected)
        circles = {info.id for info in infos if info.origin}  # where a circle begins may differ among those used alike
        assert [one for one in placed if one[0] not in circles] == [one for one in expected if one[0] not in circles]
        rows += len(expected)
    assert rows > 100


def test_rows_without_trees_are_in_exactly_that_order() -> None:
    chance = random.Random(6)
    for _ in range(200):
        infos = [replace(one, parent_id="", fork_of="") for one in many(chance, chance.randrange(1, 20))]
        placed = in_one_folder(infos, SIGNS, NOON, is_archived=False)
        assert shown(placed) == plainly(infos, is_archived=False)


def test_all_projects_are_by_folder_the_one_used_last_first() -> None:
    chance = random.Random(7)
    for _ in range(100):
        infos = many(chance, chance.randrange(1, 14))
        placed = shown(by_folder(infos, SIGNS, NOON, is_archived=False))
        last = {
            path: max(one.updated for one in infos if one.directory == path) for path in {i.directory for i in infos}
        }
        ordered = [*dict.fromkeys(name for _, _, name in placed)]
        assert [last[name] for name in ordered] == sorted((last[name] for name in ordered), reverse=True)
        for path in last:
            inside = [one for one in infos if one.directory == path]
            expected = plainly(inside, is_archived=False, group=path)
            assert sorted(one for one in placed if one[2] == path) == sorted(expected)


def test_moments_that_no_calendar_has_do_not_mix_up_the_days() -> None:
    moments = [10**17, 10**16, NOON, NOON - DAY_MS, NOON - 2 * DAY_MS, NOON - 40 * DAY_MS, 5, -5, -(10**16), -(10**17)]
    infos = [ListedSession(f"ses_{at}", "t", "/a", one, one) for at, one in enumerate(moments)]
    placed = in_one_folder(infos, SIGNS, NOON, is_archived=False)
    assert shown(placed) == [(info.id, "", day(info.updated, NOON)) for info in infos]
