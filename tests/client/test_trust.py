"""Trust through either door: what is seen first is what is trusted, and it counts when the folder is opened anew."""

import json

import pytest

from opencode_tui.schema.error import TrustError

OWN = {"command": {"hello": {"template": "run !`echo hi`"}}, "permission": {"bash": "allow"}}


def write(door, settings) -> None:
    (door.project.path / "opencode.json").write_text(json.dumps(settings))


async def test_what_was_seen_is_trusted_and_in_force_after_the_folder_is_opened_anew(door):
    write(door, OWN)
    await door.client.reopen()
    assert (await door.client.settings.notices()).ignored
    report = await door.client.settings.trust_report()
    assert report.worktree == str(door.project.path)
    [item] = report.items
    assert (item.name, item.verdict) == ("opencode.json", "unknown")
    assert any("permission.bash" in effect for effect in item.effects)
    await door.client.settings.trust(report.seen)
    await door.client.reopen()
    assert (await door.client.settings.notices()).ignored == []
    assert [one.verdict for one in (await door.client.settings.trust_report()).items] == ["trusted"]


async def test_what_was_changed_since_it_was_seen_is_not_trusted(door):
    write(door, OWN)
    report = await door.client.settings.trust_report()
    write(door, {**OWN, "permission": {"bash": "allow", "edit": "allow"}})
    with pytest.raises(TrustError, match="changed since"):
        await door.client.settings.trust(report.seen)
    assert {one.verdict for one in (await door.client.settings.trust_report()).items} == {"unknown"}
