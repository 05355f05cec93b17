import logging
import stat
import threading

import pytest

from opencode_tui.cli import log
from opencode_tui.cli.log import start_log
from opencode_tui.config.auth import AuthStore
from opencode_tui.storage.paths import find_paths
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.world.engine import opened
from tests.support.world.waiting import PATIENCE_S

LOGGER = logging.getLogger("opencode_tui.test")


@pytest.fixture(autouse=True)
def _patiently(monkeypatch):
    monkeypatch.setattr(log, "END_S", PATIENCE_S)


def written(file):
    """Return what a log file has when its lines are written: a busy machine writes them after the caller has gone on."""
    for handler in logging.getLogger("opencode_tui").handlers:
        handler.flush()
    return file.read_text()


def test_a_warning_is_a_line_in_a_private_file_and_nothing_on_the_terminal(tmp_path, capsys):
    start_log(tmp_path / "log", None)
    LOGGER.info("not this")
    LOGGER.warning("this %s", "one")
    file = tmp_path / "log" / "opencode-tui.log"
    assert [line.rpartition(": ")[2] for line in written(file).splitlines()] == ["this one"]
    assert (stat.S_IMODE(file.stat().st_mode), capsys.readouterr().err) == (0o600, "")


def test_nothing_is_made_before_there_is_something_to_write(tmp_path):
    start_log(tmp_path / "log", "debug")
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_debug_run_shows_the_log_without_steering_the_terminal(tmp_path, capsys, hostile):
    start_log(tmp_path, "debug")
    LOGGER.debug("name %s", hostile)
    shown = capsys.readouterr().err
    assert "name" in shown and steering(shown) == []


def test_no_key_of_the_user_reaches_the_log(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("SOME_API_KEY", "canary-of-the-environment")
    auth = AuthStore(paths=find_paths({"HOME": str(tmp_path)}))
    auth.login("openai", "canary-of-the-file")
    start_log(tmp_path / "log", "debug")
    LOGGER.warning("refused: %s, %s", {"key": "canary-of-the-environment"}, "canary-of-the-file")
    auth.login("groq", "canary-stored-meanwhile")
    try:
        raise ValueError("canary-stored-meanwhile")
    except ValueError:
        LOGGER.exception("with a traceback")
    for text in (written(tmp_path / "log" / "opencode-tui.log"), capsys.readouterr().err):
        assert "canary" not in text
        assert "refused: {'key': '[hidden]'}, [hidden]" in text
        assert "ValueError: [hidden]" in text


def test_a_log_line_about_damaged_credentials_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    auth = find_paths({"HOME": str(tmp_path)}).auth
    auth.parent.mkdir(parents=True)
    auth.write_text("{")
    start_log(tmp_path / "log", None)
    LOGGER.warning("first")
    LOGGER.warning("second")
    lines = written(tmp_path / "log" / "opencode-tui.log").splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == [
        "not valid JSON; fix or move it (left unchanged)",
        "first",
        "second",
    ]


def test_a_log_that_is_too_large_is_rotated(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 10)
    start_log(tmp_path, None)
    LOGGER.warning("first")
    LOGGER.warning("second")
    assert "second" in written(tmp_path / "opencode-tui.log")
    assert "first" in (tmp_path / "opencode-tui.old.log").read_text()


def test_lines_that_the_disk_writes_late_are_there_after_a_flush(tmp_path, monkeypatch):
    """Such as at the end of the program, however busy the machine is."""
    monkeypatch.setattr(log, "PATIENCE_S", 0.0)
    may_write = threading.Event()
    write = log._PrivateFile._write

    def late(handler, line):
        may_write.wait(PATIENCE_S)
        write(handler, line)

    monkeypatch.setattr(log._PrivateFile, "_write", late)
    start_log(tmp_path, None)
    for at in range(3):
        LOGGER.warning("line %d", at)
    assert not (tmp_path / "opencode-tui.log").exists()
    may_write.set()
    assert [line.rpartition(": ")[2] for line in written(tmp_path / "opencode-tui.log").splitlines()] == [
        "line 0",
        "line 1",
        "line 2",
    ]


def test_a_disk_that_refuses_costs_the_log_only(tmp_path, capsys):
    (tmp_path / "log").write_text("a file where the folder should be")
    start_log(tmp_path / "log", None)
    LOGGER.warning("lost")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "wanted"), [(None, ["info", "error"]), ("error", ["error"]), ("debug", ["info", "error"])]
)
async def test_the_settings_choose_the_level_unless_the_command_line_does(environ, tmp_path, given, wanted):
    start_log(tmp_path / "log", given)
    level = "ERROR" if given == "debug" else "INFO"
    async with opened(environ, tmp_path, settings={"logLevel": level}):
        LOGGER.info("info")
        LOGGER.error("error")
    lines = written(tmp_path / "log" / "opencode-tui.log").splitlines()
    start_log(tmp_path / "other", None)
    assert [line.rpartition(": ")[2] for line in lines if "opencode_tui.test" in line] == wanted
