"""Commands that discard files of every kind: after an undo all is as before, times included, or is named with the reason."""

import os
import shutil
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.snapshot.worktree import World
from tests.support.undo.discards import Outcome, discard, make_project

pytestmark = pytest.mark.slow


TARGETS = (
    "src/app.py",
    "README.md",
    "notes.txt",
    "secret.key",
    "video.mov",
    "drafts/big.csv",
    ".env",
    "app.sqlite",
    "model.bin",
    "data/large.parquet",
)
"""Tracked, untracked and ignored files, small and large, one of them closed to writing, one in an ignored folder."""

CLOSED = "model.bin"
"""The one closed to writing: only root changes it in place."""

ON_ONE_FILE = (
    "rm -f {}",
    "unlink {}",
    "mv -f src/deep/er/mod.py {}",
    "mv {} elsewhere.txt && rm elsewhere.txt",
    "truncate -s 0 {}",
    "truncate -s 5000000 {}",
    "echo new > {}",
    "echo more >> {}",
    "cp -f run.sh {}",
    "sed -i '1s/^/X/' {}",
    "dd if=/dev/zero of={} bs=10 count=1 conv=notrunc status=none",
    "tee {} < .gitignore > /dev/null",
    "chmod 000 {} && rm -f {}",
    "rm -f {} && mkdir {} && touch {}/inner",
    "rm -f {} && ln -s README.md {}",
)

MADE = frozenset({"node_modules", "build"})
NOTHING: frozenset[str] = frozenset()

IN_WORDS: dict[str, frozenset[str]] = {
    "git clean -fd": NOTHING,
    "git clean -fdx": MADE,
    "git clean -fdX": MADE,
    "git clean -fx": NOTHING,
    "git clean -fd drafts": NOTHING,
    "git clean -fdx -e data": MADE,
    "git clean -fdx data uploads": NOTHING,
    "cd src && git clean -fdx ../data": NOTHING,
    "git checkout -f": NOTHING,
    "git checkout -f HEAD~1": NOTHING,
    "git checkout -- .": NOTHING,
    "git checkout -- src/app.py": NOTHING,
    "git checkout HEAD~1 -- src": NOTHING,
    "git restore .": NOTHING,
    "git restore --source=HEAD~1 src": NOTHING,
    "git reset -q --hard": NOTHING,
    "git reset -q --hard HEAD~1": NOTHING,
    "git reset -q --hard && git clean -fdxq": MADE,
    "git switch -q -f -c other HEAD~1": NOTHING,
    "git stash": NOTHING,
    "git stash -u": NOTHING,
    "git stash -a": MADE,
    "git stash push -a -m all": MADE,
    "git stash && git stash drop": NOTHING,
    "git rm -rfq src": NOTHING,
    "git rm -fq README.md": NOTHING,
    "git read-tree -u --reset HEAD~1": NOTHING,
    "git checkout-index -f -a": NOTHING,
    "rm -rf data": NOTHING,
    "rm -rf data uploads drafts": NOTHING,
    "rm -rf -- *": MADE,
    "rm -rf node_modules data": frozenset({"node_modules"}),
    "rm -f *.bin *.sqlite *.log": NOTHING,
    "rm -r empty": NOTHING,
    "rm link data/latest": NOTHING,
    'd=data; rm -rf "$d"': NOTHING,
    "for f in *.sqlite *.log; do rm $f; done": NOTHING,
    "cd data && rm -rf *": NOTHING,
    "(cd uploads; rm one.png)": NOTHING,
    "bash -c 'rm -rf data'": NOTHING,
    "if true; then rm video.mov; fi": NOTHING,
    "rm -rf .git data": NOTHING,
    "find data -delete": NOTHING,
    "find . -name '*.bin' -delete": NOTHING,
    "find . -type f -size +1M -not -path './.git/*' -delete": NOTHING,
    "find data -type f -exec rm {} +": NOTHING,
    "find data -type f -exec rm {} \\;": NOTHING,
    "find uploads -name '*.png' -exec shred -u {} \\;": NOTHING,
    "shred -u app.sqlite": NOTHING,
    "mv app.sqlite video.mov": NOTHING,
    "mv video.mov data/large.parquet": NOTHING,
    "mv -t data video.mov app.sqlite && rm data/video.mov data/app.sqlite": NOTHING,
    "mv data/old/2020.csv data/large.parquet": NOTHING,
    "cp drafts/big.csv app.sqlite": NOTHING,
    "cp drafts/big.csv data/large.parquet": NOTHING,
    "install -m 755 run.sh model.bin": NOTHING,
    "rsync -a --delete drafts/ uploads/": NOTHING,
    "rsync -a --delete --exclude=x empty/ data/": NOTHING,
    "perl -pi -e s/m/b/ notes.txt": NOTHING,
    "chmod -R 000 data && chmod -R 755 data && rm -rf data": NOTHING,
    "mkfifo pipe && rm -rf data pipe": NOTHING,
    ": > app.sqlite": NOTHING,
    "> video.mov": NOTHING,
    "cat README.md > data/old/2020.csv": NOTHING,
}
"""Commands whose words say what they discard, each with what undo does not bring back: only what tools make again."""

IN_SCRIPTS: dict[str, frozenset[str]] = {
    "python3 -c \"import shutil; shutil.rmtree('data')\"": frozenset({"data/large.parquet", "data/old/2020.csv"}),
    "python3 -c \"open('app.sqlite', 'w')\"": frozenset({"app.sqlite"}),
    "python3 -c \"open('.env', 'w')\"": NOTHING,
    "python3 -c \"import os; os.remove('secret.key'); os.rmdir('empty/inner')\"": NOTHING,
    "ls *.log | xargs rm": frozenset({"huge.log"}),
    "make -f /dev/stdin clean <<< 'clean: ; rm -rf uploads .env'": frozenset({"uploads/one.png"}),
    "sh ./clean.sh": frozenset({"data/large.parquet", "data/old/2020.csv"}),
    "ls && python3 -c \"import os; os.remove('notes.txt'); os.remove('small.sqlite')\"": NOTHING,
}
"""Commands that no reading of words understands, each with what undo can only name: ignored and large files."""


@pytest.fixture
def world(tmp_path: Path, paths: Paths) -> World:
    """The project, with a script that cleans up."""
    make_project(tmp_path / "project")
    world = World(tmp_path / "project", paths)
    world.write("clean.sh", "rm -rf data drafts/a.md\n")
    return world


def check(world: World, outcome: Outcome, expected: frozenset[str] | None = None) -> None:
    """Fail unless the command changed something, and all that differs after the undo is named with a reason."""
    assert outcome.changed != outcome.before, outcome.output
    named = outcome.named(world.root)
    if expected is not None:
        assert named == expected
    differing = {
        path
        for path in outcome.before.keys() | outcome.after.keys()
        if outcome.before.get(path) != outcome.after.get(path)
    }
    assert {path for path in differing if not any(f"{path}/".startswith(f"{name}/") for name in named)} <= {
        str(parent) for name in named for parent in Path(name).parents
    }


@pytest.mark.parametrize("command", ON_ONE_FILE)
async def test_a_command_on_a_file_of_any_kind_is_undone(environ, tmp_path, paths, command):
    for number, target in enumerate(TARGETS):
        make_project(tmp_path / str(number))
        world = World(tmp_path / str(number), paths)
        outcome = await discard(world, command.replace("{}", target), environ)
        if os.geteuid() != 0 and target == CLOSED and outcome.output.endswith("Permission denied\n"):
            assert outcome.changed == outcome.before
            continue
        check(world, outcome, NOTHING)
        assert not outcome.announced()


@pytest.mark.parametrize("command", IN_WORDS)
async def test_what_the_words_of_a_command_discard_is_restored_or_named_before(world, environ, command):
    if shutil.which("rsync") is None and "rsync" in command:
        pytest.skip("rsync is not installed")
    outcome = await discard(world, command, environ)
    check(world, outcome, IN_WORDS[command])
    named = outcome.named(world.root)
    assert {path.split("/")[0] for path in outcome.announced()} >= named


@pytest.mark.parametrize("command", IN_SCRIPTS)
async def test_what_a_script_discards_is_restored_or_named_by_the_undo(world, environ, command):
    check(world, await discard(world, command, environ), IN_SCRIPTS[command])
