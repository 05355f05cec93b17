"""The settings of the sandbox: what they may be, and that a repository may only tighten them."""

from typing import Any

import pytest

from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld

TIGHTER: list[dict[str, Any]] = [
    {"mode": "read-only"},
    {"network": "off"},
    {"hidden": ["secrets"]},
    {"writable": []},
    {"hosts": []},
    {"auto": "inside"},
]
LOOSER: list[dict[str, Any]] = [
    {"mode": "off"},
    {"mode": "auto"},
    {"tier": "none"},
    {"tier": "landlock"},
    {"network": "on"},
    {"network": "hosts"},
    {"writable": ["/"]},
    {"readable": ["/home"]},
    {"hosts": ["x.example"]},
    {"env": ["GH_TOKEN"]},
    {"auto": "outside"},
    {"memory": "none"},
    {"processes": 0},
    {"file_size": "900 TB"},
    {"open_files": 0},
    {"other": 1},
]


def sandbox(value: dict[str, Any]) -> dict[str, Any]:
    return {"experimental": {"sandbox": value}}


@pytest.mark.parametrize("value", TIGHTER)
def test_a_repository_may_tighten_the_sandbox(world: SettingsWorld, value: dict[str, Any]) -> None:
    world.repository(sandbox(value))
    assert world.load().effective == sandbox(value)


@pytest.mark.parametrize("value", LOOSER)
def test_a_repository_may_not_loosen_the_sandbox(world: SettingsWorld, value: dict[str, Any]) -> None:
    world.repository(sandbox({**value, "network": value.get("network", "off")}))
    assert world.load().effective.get("experimental", {}).get("sandbox", {"network": "off"}) == {"network": "off"}


def test_a_repository_cannot_replace_the_users_hidden_files(world: SettingsWorld) -> None:
    world.person(sandbox({"hidden": ["~/mine"]}))
    world.repository(sandbox({"hidden": ["theirs"]}))
    assert world.load().effective == sandbox({"hidden": ["~/mine", "theirs"]})


@pytest.mark.parametrize("size", ["8 GB", "512MB", "1.5 TB", "none"])
def test_a_size_has_a_unit(world: SettingsWorld, size: str) -> None:
    world.person(sandbox({"memory": size, "file_size": size}))
    assert world.load().effective == sandbox({"memory": size, "file_size": size})


@pytest.mark.parametrize("size", ["", "8", "0", "8 gb", "-1 GB", "8 GiB", "half", "8 GB "])
def test_what_is_not_a_size_is_refused_in_one_line(world: SettingsWorld, size: str) -> None:
    world.person(sandbox({"memory": size}))
    with pytest.raises(ConfigError, match=r"experimental\.sandbox\.memory.*a size \(such as \"8 GB\"") as error:
        world.load()
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "host", ["example.com", "*.example.org", "db.local:5432", "10.0.0.5", "[::1]:80", "::1", "localhost"]
)
def test_a_host_is_a_name_or_an_address_with_or_without_a_port(world: SettingsWorld, host: str) -> None:
    world.person(sandbox({"network": "hosts", "hosts": [host]}))
    assert world.load().effective == sandbox({"network": "hosts", "hosts": [host]})


@pytest.mark.parametrize(
    "host", ["", "*", "*.", "https://example.com", "example.com/simple", "a b", "*.*", "a:b", "x:"]
)
def test_what_is_not_a_host_is_refused_in_one_line(world: SettingsWorld, host: str) -> None:
    world.person(sandbox({"network": "hosts", "hosts": [host]}))
    with pytest.raises(ConfigError, match=r"experimental\.sandbox\.hosts.*a host \(such as example\.com") as error:
        world.load()
    assert len(str(error.value).splitlines()) == 1
