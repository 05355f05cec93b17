"""Trust through either client: only the content that was shown is trusted, from the next time the folder is opened."""

import json

import pytest

from opencode_tui.schema.error import TrustError

OWN = {"command": {"hello": {"template": "run !`echo hi`"}}, "permission": {"bash": "allow"}}


def write(api, settings) -> None:
    (api.project.path / "opencode.json").write_text(json.dumps(settings))


async def test_what_was_seen_is_trusted_and_in_force_after_the_folder_is_opened_anew(api):
    write(api, OWN)
    await api.client.reopen()
    assert (await api.client.settings.notices()).ignored
    report = await api.client.settings.trust_report()
    assert report.worktree == str(api.project.path)
    [item] = report.items
    assert (item.name, item.verdict) == ("opencode.json", "unknown")
    assert any("permission.bash" in effect for effect in item.effects)
    await api.client.settings.trust(report.seen)
    await api.client.reopen()
    assert (await api.client.settings.notices()).ignored == []
    assert [one.verdict for one in (await api.client.settings.trust_report()).items] == ["trusted"]


async def test_what_was_changed_since_it_was_seen_is_not_trusted(api):
    write(api, OWN)
    report = await api.client.settings.trust_report()
    write(api, {**OWN, "permission": {"bash": "allow", "edit": "allow"}})
    with pytest.raises(TrustError, match="changed since"):
        await api.client.settings.trust(report.seen)
    assert {one.verdict for one in (await api.client.settings.trust_report()).items} == {"unknown"}
