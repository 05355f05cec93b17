"""A file that a turn edited keeps owner, group and extended attributes when the turn is undone and redone."""

import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.report import Patch
from tests.support.snapshot.worktree import World, patch_of

ACL = "system.posix_acl_access"
_ENTRIES = ((1, 6, -1), (2, 4, 3000), (4, 4, -1), (0x10, 4, -1), (0x20, 0, -1))
"""Of an access control list: tag, rights and user; the second one lets the user 3000 read."""


def set_attributes(path: Path, **values: bytes) -> None:
    for name, value in values.items():
        try:
            os.setxattr(path, f"user.{name}", value)
        except OSError as error:
            pytest.skip(f"no extended attributes here: {error}")


def set_acl(path: Path) -> None:
    value = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, rights, user & 0xFFFFFFFF) for tag, rights, user in _ENTRIES
    )
    try:
        os.setxattr(path, ACL, value)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error}")


def set_owner(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, 1234, 2345)


def set_group(path: Path) -> None:
    other = next((group for group in os.getgroups() if group != path.stat().st_gid), None)
    if other is None and os.geteuid() != 0:
        pytest.skip("the user has one group only")
    os.chown(path, -1, 2345 if other is None else other)


def facts(path: Path) -> tuple[int, int, dict[str, bytes]]:
    status = path.stat()
    return status.st_uid, status.st_gid, {name: os.getxattr(path, name) for name in os.listxattr(path)}


async def by_command(world: World) -> Patch:
    return await world.step(lambda: world.write("f", "by the agent"))


async def with_mode(world: World) -> Patch:
    return await world.step(lambda: world.write("f", "by the agent", mode=0o751))


async def of_mode_alone(world: World) -> Patch:
    return await world.step(lambda: (world.root / "f").chmod(0o751))


async def by_tool(world: World) -> Patch:
    step = world.recording()
    await world.tool_write(step, "f", "by the agent", mode=0o640)
    return patch_of(step)


SETS: list[Callable[[Path], None]] = [
    lambda path: set_attributes(path, note=b"mine"),
    lambda path: set_attributes(path, note=b"mine", empty=b"", other=b"\0\xff"),
    set_acl,
    set_group,
    set_owner,
]
IDS = ["an attribute", "several attributes", "an access control list", "the group", "the owner"]
EDITS = [by_command, with_mode, of_mode_alone, by_tool]


@pytest.mark.fast_cases("an attribute-by_tool", "the owner-by_tool")
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("give", SETS, ids=IDS)
async def test_an_edited_file_keeps_what_it_has_beside_content_and_mode(world: World, give, edit):
    path = world.write("f", "before", mode=0o640)
    give(path)
    before, mode = facts(path), stat.S_IMODE(path.stat().st_mode)
    patch = await edit(world)
    after, mode_after = facts(path), stat.S_IMODE(path.stat().st_mode)
    report = await world.snapshots.revert([patch])
    assert (facts(path), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (before, "before", mode)
    await world.snapshots.unrevert(report)
    assert (facts(path), stat.S_IMODE(path.stat().st_mode)) == (after, mode_after)


async def test_a_file_that_its_mode_closes_keeps_its_attributes(world: World):
    path = world.write("f", "before")
    set_attributes(path, note=b"mine")
    patch = await world.step(lambda: world.write("f", "by the agent", mode=0))
    await world.snapshots.revert([patch])
    assert (path.read_text(), facts(path)[2]) == ("before", {"user.note": b"mine"})


@pytest.mark.parametrize("place", ["link", "folder", "nothing"])
async def test_where_the_turn_left_no_file_nothing_is_copied(world: World, place: str):
    path = world.write("f", "before")
    other = world.write("other")
    set_attributes(path, note=b"mine")
    set_attributes(other, note=b"of another file")

    def act() -> None:
        path.unlink()
        if place == "link":
            path.symlink_to("other")
        elif place == "folder":
            path.mkdir()

    report = await world.snapshots.revert([await world.step(act)])
    assert (path.read_text(), facts(path)[2], report.failed) == ("before", {}, [])
