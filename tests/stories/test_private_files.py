"""Everything that the program writes below its own folders is for the user alone, whatever the umask."""

import os
import stat
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from opencode_tui.tui.prompt.history import append_history
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


LONG = (
    'go <<tool bash {"command":"seq 1 9000","description":"count"}>> <<tool write {"filePath":"b.txt","content":"x"}>>'
)


@pytest.fixture
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def others_may_use(folder: Path) -> list[str]:
    """Return the files and folders below a folder that others than the user may read or write, with their modes."""
    found = [folder, *folder.rglob("*")]
    assert len(found) > 1
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found if not path.is_symlink()}
    return [f"{path} {mode:o}" for path, mode in modes.items() if mode & 0o077]


@pytest.mark.usefixtures("open_umask")
def test_files_are_private_under_an_open_umask(
    line: CommandLine, paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = in_process(line, monkeypatch, capsys)
    assert line.turn(LONG, "--auto").code == 0
    assert line.run("auth", "login", "anthropic", stdin="sk-test\n").code == 0
    assert line.run("trust").code == 0
    assert line.run("models").code == 0
    append_history(paths.state / "history.jsonl", "hello")
    found = [name for folder in (paths.data, paths.state, paths.cache) for name in others_may_use(folder)]
    own = str(paths.cache / "sandbox" / "temp")  # a private folder with what commands write
    assert [name for name in found if own not in name and ("/snapshot/" not in name or "/objects" not in name)] == []
    assert stat.S_IMODE((paths.cache / "sandbox").stat().st_mode) == 0o700
