"""A file system of its own that is full, then read-only, then well again, and a limit of the size of files: the whole program."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


SCRIPT = """
set -e
data=$1; shift
mount -t tmpfs -o size=4m,mode=700 tmpfs "$data"
say() { "$@" 2>&1 | grep -o 'cannot .*\\|Echo: .*' || echo "nothing was said"; }
run() { say "$PYTHON" -m opencode_tui run "$@"; }
run -m fake/fake-model first
before=$(cd "$data/opencode-tui/storage" && find . -type f | sort | xargs cat | md5sum)
head -c 8m /dev/zero > "$data/ballast" 2>/dev/null || true
run -c second
rm "$data/ballast"
mount -o remount,ro "$data"
run -c third
mount -o remount,rw "$data"
after=$(cd "$data/opencode-tui/storage" && find . -type f | sort | xargs cat | md5sum)
test "$before" = "$after" && echo "nothing changed"
find "$data" -name '*.tmp'
run -c fourth
"$PYTHON" -m opencode_tui doctor | grep '^. store '
"""


@cache
def namespace() -> list[str]:
    """Return the command that gives a program mounts of its own, empty where this user cannot have them."""
    if shutil.which("unshare") is None:
        return []
    words = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    script = "mount -t tmpfs tmpfs /mnt && mount -o remount,ro /mnt"
    tried = subprocess.run([*words, "sh", "-c", script], capture_output=True, check=False)
    return [] if tried.returncode else words


def output_of(words: list[str], folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the lines that a script prints; it must end well."""
    done = subprocess.run(
        words, cwd=folder, env={**environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.splitlines()


def test_a_full_and_then_read_only_file_system_loses_nothing_and_is_used_again(
    folder: Path, environ: dict[str, str], paths: Paths
) -> None:
    if not namespace():
        pytest.skip("this user can have no mounts of its own")
    data = paths.data.parent
    data.mkdir(parents=True)
    with ModelServer() as server:
        line = CommandLine(folder, environ, provider=server.config())
        said = output_of([*namespace(), "sh", "-c", SCRIPT, "sh", str(data)], folder, line.variables())
    assert len(said) == 6, said
    first, full, read_only, unchanged, fourth, store = said
    assert (first, fourth, unchanged) == ("Echo: first", "Echo: fourth", "nothing changed")
    assert full.startswith(f"cannot write {data}") and full.endswith("the disk is full; free some space")
    assert read_only.startswith("cannot ") and "the file system is read-only; set XDG_DATA_HOME" in read_only
    assert store.startswith("✓ store")


def test_a_limit_of_the_size_of_files_is_named(folder: Path, environ: dict[str, str]) -> None:
    with ModelServer() as server:
        line = CommandLine(folder, environ, provider=server.config())
        script = (
            'ulimit -f 16; "$PYTHON" -m opencode_tui run -m fake/fake-model "<<words 9000>>" 2>&1 >/dev/null || true'
        )
        said = output_of(["sh", "-c", script], folder, line.variables())
    assert any("the file would be larger than this process may write; raise `ulimit -f`" in one for one in said), said
