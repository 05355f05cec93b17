"""`upgrade` knows by its own files what installed the program, and runs nothing unless asked to."""

import json
from importlib.metadata import Distribution
from pathlib import Path

from opencode_tui.cli.commands.upgrade import find_installation
from opencode_tui.origin import NAME
from tests.support.rows import each
from tests.support.world.in_process import Commands


def installed(folder: Path, **files: str) -> Distribution:
    info = folder / "opencode_tui-1.dist-info"
    info.mkdir(parents=True)
    for name, text in {"METADATA": f"Name: {NAME}\nVersion: 1\n", **files}.items():
        (info / name.replace("__", ".")).write_text(text)
    return Distribution.at(info)


@each(
    ("marker", "files", "by", "command"),
    [
        ("pipx_metadata.json", {}, "pipx", ["pipx", "upgrade", NAME]),
        ("uv-receipt.toml", {"INSTALLER": "uv\n"}, "uv tool", ["uv", "tool", "upgrade", NAME]),
        ("pyvenv.cfg", {"INSTALLER": "pip\n"}, "pip", ["install", "--upgrade", NAME]),
        ("pyvenv.cfg", {"INSTALLER": "uv"}, "uv", ["--upgrade", NAME]),
        (
            "pyvenv.cfg",
            {"direct_url__json": json.dumps({"url": "file:///src/a%20b", "dir_info": {}})},
            "pip",
            ["install", "--upgrade", "/src/a b"],
        ),
    ],
)
def test_what_installed_the_program_upgrades_it(
    row_path: Path, marker: str, files: dict[str, str], by: str, command: list[str]
) -> None:
    (row_path / marker).touch()
    found = find_installation(row_path, installed(row_path / "site", **files))
    assert found.by == by
    assert [*found.command][-len(command) :] == command


def test_an_editable_installation_and_one_for_one_run_have_advice_only(tmp_path: Path) -> None:
    direct = json.dumps({"url": "file:///src", "dir_info": {"editable": True}})
    editable = find_installation(tmp_path, installed(tmp_path / "a", direct_url__json=direct))
    assert not editable.command
    assert "/src" in editable.advice
    once = find_installation(tmp_path / "archive-v0" / "x", installed(tmp_path / "b"))
    assert (once.command, "--refresh" in once.advice) == ((), True)
    assert find_installation(tmp_path, None).command == ()


def test_it_runs_nothing_without_a_terminal_or_an_option(commands: Commands) -> None:
    shown = commands.run("upgrade", "--dry-run")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"{NAME} ")
    assert "installed by" in shown.stdout
