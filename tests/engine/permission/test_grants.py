"""Claims about what is kept of an `always`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from opencode_tui.engine.permission.grants import Grants
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.permission import Rule
from opencode_tui.storage.paths import Paths
from tests.engine.permission.conftest import NOW

Open = Callable[..., Grants]


def record_of(paths: Paths) -> Path:
    return paths.storage / "permission" / "global.json"


def real(path: Path) -> str:
    return str(path.resolve())


def listed(grants: Sequence[Rule]) -> list[tuple[str, str]]:
    return [(grant.permission, grant.pattern) for grant in grants]


async def test_a_grant_is_a_rule_of_opencodes_with_our_metadata(
    open_grants: Open, paths: Paths, tmp_path: Path
) -> None:
    await open_grants().add("bash", ["git *", "git *"])
    assert json.loads(record_of(paths).read_bytes()) == [
        {
            "permission": "bash",
            "pattern": "git *",
            "action": "allow",
            "metadata": {"worktree": real(tmp_path), "created": NOW},
        }
    ]


async def test_grants_outlive_the_process(open_grants: Open) -> None:
    await open_grants().add("bash", ["git *"])
    assert listed(await open_grants().listed()) == [("bash", "git *")]


async def test_a_known_grant_is_not_stored_twice(open_grants: Open) -> None:
    grants = open_grants()
    await grants.add("bash", ["git *"])
    await grants.add("bash", ["git *", "ls *"])
    await grants.add("edit", ["git *"])
    assert listed(await grants.listed()) == [("bash", "git *"), ("bash", "ls *"), ("edit", "git *")]


async def test_a_known_grant_stays_as_it_is_and_another_subject_replaces_it(open_grants: Open, paths: Paths) -> None:
    grants = open_grants()
    await grants.add("bash", ["git *"])
    grants._clock = lambda: NOW + 1
    await grants.add("bash", ["git *"])
    assert [one["metadata"]["created"] for one in json.loads(record_of(paths).read_bytes())] == [NOW]
    await grants.add("bash", ["git *"], subject="src")
    [kept] = json.loads(record_of(paths).read_bytes())
    assert (kept["metadata"]["created"], kept["metadata"]["subject"]) == (NOW + 1, "src")


async def test_each_worktree_sees_its_own(open_grants: Open, tmp_path: Path) -> None:
    first, second = open_grants(tmp_path / "first"), open_grants(tmp_path / "second")
    await first.add("bash", ["ls *"])
    assert listed(await first.listed()) == [("bash", "ls *")]
    assert await second.listed() == []


async def test_a_link_to_a_worktree_is_that_worktree(open_grants: Open, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await open_grants(tmp_path / "link").add("bash", ["ls *"])
    assert listed(await open_grants(tmp_path / "real").listed()) == [("bash", "ls *")]


async def test_one_grant_is_revoked_or_all_of_a_permission(open_grants: Open) -> None:
    grants = open_grants()
    await grants.add("bash", ["a", "b", "c"])
    await grants.add("edit", ["*"])
    assert listed(await grants.revoke("bash", "b")) == [("bash", "b")]
    assert listed(await grants.revoke("bash")) == [("bash", "a"), ("bash", "c")]
    assert await grants.revoke("bash") == []
    assert listed(await grants.listed()) == [("edit", "*")]


async def test_rules_of_other_programs_are_kept_and_not_obeyed(open_grants: Open, paths: Paths) -> None:
    foreign = [{"permission": "bash", "pattern": "*", "action": "allow", "note": {"by": "another"}}]
    record_of(paths).parent.mkdir(parents=True)
    record_of(paths).write_text(json.dumps(foreign))
    grants = open_grants()
    await grants.add("bash", ["ls *"])
    await grants.revoke("bash")
    assert await grants.rules() == []
    assert json.loads(record_of(paths).read_bytes()) == foreign


@pytest.mark.parametrize("damage", [b"", b"{", b'{"a": 1}', b'[{"permission": "bash"}]'])
async def test_a_damaged_record_grants_nothing_and_is_not_overwritten(
    open_grants: Open, paths: Paths, damage: bytes
) -> None:
    record_of(paths).parent.mkdir(parents=True)
    record_of(paths).write_bytes(damage)
    grants = open_grants()
    assert await grants.rules() == []
    with pytest.raises(StorageError, match="doctor"):
        await grants.add("bash", ["ls *"])
    assert record_of(paths).read_bytes() == damage
