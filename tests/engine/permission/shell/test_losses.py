"""What the words of a command line remove or overwrite: the paths, what git discards, and nothing where only something is read."""

import pytest

from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import scan
from tests.support.rows import each

FILES = ("a/f", "data/x.log", "data/y", "b.bin")

ROWS = (
    ("rm -rf data b.bin", [("deleted", "data"), ("deleted", "b.bin")]),
    ("rm *.bin", [("deleted", "b.bin")]),
    ("cd data && rm y", [("deleted", "data/y")]),
    ("mv a/f b.bin", [("deleted", "a/f"), ("replaced", "b.bin")]),
    ("mv b.bin data", [("deleted", "b.bin")]),
    ("cp a/f data/y", [("replaced", "data/y")]),
    ("rsync -a --delete a/ data/", [("deleted", "data")]),
    ("rsync -a a/ data/", []),
    ("truncate -s 0 b.bin", [("replaced", "b.bin")]),
    ("echo x > b.bin", [("replaced", "b.bin")]),
    ("echo x > new", []),
    ("sed -i s/a/b/ b.bin", [("replaced", "b.bin")]),
    ("find data -delete", [("deleted", "data")]),
    ("find data -exec rm {} +", [("deleted", "data"), ("deleted", "{}")]),
    ("find data -exec cat {} +", []),
    ("git rm -r a", [("deleted", "a")]),
    ("git rm --cached -r a", []),
    ("git clean -fdx", [("untracked", "")]),
    ("git clean -ndx", []),
    ("git stash -u", [("untracked", ""), ("changes", "")]),
    ("git stash list", []),
    ("git checkout -f", [("changes", "")]),
    ("git checkout main", []),
    ("git checkout -- a", [("changes", "")]),
    ("git restore --staged .", []),
    ("git reset --hard", [("changes", "")]),
    ("git reset HEAD", []),
    ("cat b.bin; ls data; git status", []),
    ("rm -rf /elsewhere", []),
)


def losses(command: str):
    files = VirtualFileSystem("/p", files=FILES, symlinks={})
    return scan(command, cwd="/p", home="/home/u", project_root="/p", filesystem=files).losses


@each("command, expected", ROWS)
def test_what_a_command_loses(command, expected):
    found = [(loss.kind, loss.path.removeprefix("/p").lstrip("/")) for loss in losses(command)]
    assert [one for one in found if one[1] not in ("main", "HEAD")] == expected


@pytest.mark.parametrize(
    ("tests", "pattern"),
    [("-name '*.log'", "*.log"), ("-name x -o -name y", "*"), ("! -name x", "*"), ("-mtime +1", "*")],
)
def test_one_name_limits_what_find_deletes(tests, pattern):
    [loss] = losses(f"find data {tests} -delete")
    assert (loss.path, loss.pattern) == ("/p/data", pattern)
