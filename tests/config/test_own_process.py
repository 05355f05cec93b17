"""Keys of this process where other processes of the user could read them."""

import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.config.own_process import read_password
from opencode_tui.schema.error import ConfigError

PROGRAM = """
import os, sys
from opencode_tui.config import own_process
own_process.erase_keys(sys.argv[2:])
shown = open("/proc/self/environ").read() + open("/proc/self/cmdline").read()
print([value for value in ("sk-CANARY", "hunter22", "kept", "--password") if value in shown])
print(os.environ["X_API_KEY"], os.popen("echo $X_API_KEY").read())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_erased_keys_are_in_the_environment_but_not_in_proc(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program, "--password", "hunter22"],
        env={"X_API_KEY": "sk-CANARY", "OTHER": "kept", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["['kept', '--password']", "sk-CANARY sk-CANARY"]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("OPENCODE_SERVER_PASSWORD", " from the variable ")
    return monkeypatch


def test_the_password_is_removed_from_the_environment(environment: pytest.MonkeyPatch) -> None:
    assert [read_password(None), read_password(None)] == ["from the variable", None]


def test_a_file_overrides_the_variable(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_text("from the file\n")
    assert [read_password(str(file)), read_password(None)] == ["from the file", None]


@pytest.mark.parametrize(("mode", "text", "reason"), [(0o640, "x", "chmod 600"), (0o600, " \n", "is empty")])
def test_a_file_that_others_may_read_or_without_a_password_is_refused(
    tmp_path: Path, mode: int, text: str, reason: str
) -> None:
    file = tmp_path / "password"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(ConfigError, match=reason):
        read_password(str(file))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_password(str(tmp_path / "missing"))
