"""Fixtures and settings of all tests: an isolated environment below tmp_path, and Hypothesis without time limits."""

import compileall
import contextlib
import gc
import importlib
import itertools
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.sandbox.tier import choose
from opencode_tui.storage.paths import Paths, find_paths
from tests.support.rows import short_id
from tests.support.world.machine import choose_path
from tests.support.world.waiting import PATIENCE_S

pytest_plugins = ["tests.support.world.process_state"]

settings.register_profile("tests", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

WAITING = (
    ("tests/tui/screens/", "tests/tui/dialogs/", "tests/engine/mcp/"),
    ("tests/tui/test_", "tests/server/test_web_page", "tests/stories/"),
)
"""Prefixes of the tests that mostly wait: for a screen or a server in their process, and for the program in a terminal."""

FAST = "not slow"
"""The expression of `-m` for the fast tier alone: files and functions that are slow as a whole are not even collected then."""

_SLOW_FILE = re.compile(rb"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)

_numbers = itertools.count()

KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


def isolated_environment(home: Path) -> dict[str, str]:
    """Return an environment whose home and XDG folders lie below `home`."""
    return {
        **{name: os.environ[name] for name in KEPT if name in os.environ},
        "HOME": str(home),
        "USER": "tester",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.invalid",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.invalid",
        "OPENCODE_TEST_MANAGED_CONFIG_DIR": str(home / "managed"),
        "NO_PROXY": "*",
        "OPENCODE_DISABLE_LOCAL_MODELS": "true",  # so must servers of models that run here
        "OPENCODE_DISABLE_LSP": "true",  # those that are installed here must not work on the projects of tests
        "OPENCODE_DISABLE_MODELS_FETCH": "true",
    }


def pytest_xdist_auto_num_workers() -> int:
    """Return two processes per core and one more: tests wait for terminals, servers and commands as long as they compute.

    On 2 cores four processes leave 14 % of the time unused, five 7 %; each takes 5 s of processor time to begin.
    """
    return 2 * (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Compile the program once, before the processes start, and look for garbage rarely, which took a third of the time.

    PATH becomes that of `tests/support/world/machine.py`. The processes store what they compile, also where
    PYTHONDONTWRITEBYTECODE is set: without it each of them compiled pytest, Hypothesis and their libraries anew in each run.

    Not on import, as benchmarks import this module.
    """
    os.environ["PATH"] = choose_path(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    gc.set_threshold(100_000, 20, 100)
    if not hasattr(config, "workerinput"):
        for folder in ("opencode_tui", "tests/support"):
            compileall.compile_dir(config.rootpath / folder, quiet=2)


def pytest_collection(session: pytest.Session) -> None:
    """Import a share of the modules first: their assertions are compiled once, and not in each process again.

    Nothing of all this is garbage.
    """
    gc.disable()
    worker: dict[str, Any] = getattr(session.config, "workerinput", {})
    if not worker:
        return
    root = session.config.rootpath
    files = sorted(file for given in session.config.args for file in (root / given).rglob("test_*.py"))
    files = [file for file in files if not pytest_ignore_collect(file, session.config)]
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with contextlib.suppress(Exception):  # pytest reports it when it collects the module
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return the ID of a case that is a text: short and ASCII, so that it can be typed and is shown as it is."""
    if isinstance(val, bytes):
        val = val.decode("latin-1")
    return short_id(val) if isinstance(val, str) else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Return True for a file whose tests are all slow when the fast tier runs alone, so that it is not imported."""
    if config.option.markexpr != FAST or not collection_path.match("test_*.py"):
        return None
    return True if _SLOW_FILE.search(collection_path.read_bytes()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Return no items for a function that is slow with all its cases when the fast tier runs alone: most of them have many."""
    if collector.config.option.markexpr != FAST or not name.startswith("test_"):
        return None
    marks: list[pytest.Mark] = getattr(obj, "pytestmark", [])
    return [] if any(mark.name == "slow" for mark in marks) else None


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a case slow that `slow_cases` names, or that `fast_cases` does not name."""
    case = item.nodeid.partition("[")[2].removesuffix("]")
    slow, fast = item.get_closest_marker("slow_cases"), item.get_closest_marker("fast_cases")
    if (slow is not None and case in slow.args) or (fast is not None and case not in fast.args):
        item.add_marker("slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let two processes begin with the tests that mostly wait, while the others compute.

    Otherwise these would all run at the end. Each process gets an equal part of the list.
    """
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if not worker:
        return
    share = len(items) // worker["workercount"]
    groups = [[item for item in items if item.nodeid.startswith(names)] for names in WAITING]
    others = [item for item in items if not item.nodeid.startswith(sum(WAITING, ()))]
    found: list[pytest.Item] = []
    for number, group in enumerate(groups):
        before = max(0, len(items) - (len(groups) - number) * share - len(found))
        found += [*others[:before], *group]
        del others[:before]
    items[:] = [*found, *others]


def pytest_collection_finish() -> None:
    """Leave all that was imported and collected out of the search for garbage: it stays."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Look for garbage once more, so that what it reports is heard; pytest then does it five times over all that stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder with a short name: screens cut and fold what is long, and the folder for all tests may be long.

    pytest's own fixture reads the names of all earlier folders for each test, to find a free number.
    """
    return tmp_path_factory.mktemp(f"t{next(_numbers)}", numbered=False)


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder as the first start of the program leaves it: the sandbox that works and the table of models."""
    cache = tmp_path_factory.mktemp("cache")
    choose("auto", os.environ, cache)
    ModelTable(cache=cache).provider_ids()
    return cache


@pytest.fixture
def closing_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an engine close as slowly as the disk of a loaded machine is; the tests of these limits set their own."""
    monkeypatch.setattr("opencode_tui.storage.storage.CLOSE_S", PATIENCE_S)
    monkeypatch.setattr("opencode_tui.client.thread.CLOSE_LIMIT_S", PATIENCE_S)
    monkeypatch.setattr("opencode_tui.engine.tool.process.background.CLOSE_S", PATIENCE_S)
    monkeypatch.setattr("opencode_tui.engine.share.shares.CLOSE_S", PATIENCE_S)


@pytest.fixture
def environ(tmp_path: Path, warm_cache: Path, closing_limits: None) -> dict[str, str]:
    """Return an environment with folders of its own for each test; its cache is that of a second start."""
    home = tmp_path / "home"
    home.mkdir()
    environ = isolated_environment(home)
    cache = find_paths(environ).cache
    cache.mkdir(parents=True, mode=0o700)
    for file in warm_cache.iterdir():
        shutil.copy(file, cache / file.name)  # with its rights
    return environ


@pytest.fixture
def paths(environ: dict[str, str]) -> Paths:
    """Return the program's folders in that environment."""
    return find_paths(environ)


@pytest.fixture
def patience_with_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the servers of models of the tests as long as a loaded machine needs."""
    for name in ("_CONNECT_S", "_ANSWER_S"):
        monkeypatch.setattr(f"opencode_tui.engine.provider.local_servers.{name}", PATIENCE_S)


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failed request be sent again after 20 ms instead of 2 s."""
    monkeypatch.setattr("opencode_tui.engine.session.retry.FIRST_DELAY_MS", 20)
