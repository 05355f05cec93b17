"""Between two undos, or an undo and its redo, the user edits files: no undo and no redo overwrites them."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.session.undo import RevertReport
from tests.support.snapshot.worktree import World

Files = Mapping[str, str | None]
"""Texts of files; None removes one, and a text that ends in `/` makes it a folder, one that begins with `->` a link."""

MINE = "mine\n"


@dataclass(frozen=True)
class Case:
    """A history: files, the agent's turns, then undos (the number of the first turn undone), edits of the user, and one redo.

    `wanted` are the files after the redo, `kept` those that the redo reports as changed since.
    """

    name: str
    files: Files
    turns: tuple[Files, ...]
    acts: tuple[int | Files, ...]
    wanted: Files
    kept: tuple[str, ...] = ()
    named: tuple[str, ...] = field(default=())
    """Files that the last undo names as kept."""


TWO = {"f": "f0", "g": "g0"}
TURNS = ({"g": "g1"}, {"f": "f1"})
CASES = [
    Case("no edit", TWO, TURNS, (1, 0), {"f": "f1", "g": "g1"}),
    Case("an edited file", TWO, TURNS, (1, {"f": MINE}, 0), {"f": MINE, "g": "g1"}, ("f",), ("f",)),
    Case("an edit taken back", TWO, TURNS, (1, {"f": MINE}, 0, {"f": "f0"}), {"f": "f1", "g": "g1"}, (), ("f",)),
    Case("an edit that is a redo by hand", TWO, TURNS, (1, {"f": "f1"}, 0), {"f": "f1", "g": "g1"}, (), ("f",)),
    Case(
        "another edit before the redo",
        TWO,
        TURNS,
        (1, {"f": MINE}, 0, {"f": "m2"}),
        {"f": "m2", "g": "g1"},
        ("f",),
        ("f",),
    ),
    Case("an edit after both undos", TWO, TURNS, (1, 0, {"f": MINE}), {"f": MINE, "g": "g1"}, ("f",)),
    Case("an edit before the first undo", TWO, TURNS, ({"f": MINE}, 1, 0), {"f": MINE, "g": "g1"}, (), ("f",)),
    Case("a removed file", TWO, TURNS, (1, {"f": None}, 0), {"f": None, "g": "g1"}, ("f",), ("f",)),
    Case("a link in its place", TWO, TURNS, (1, {"f": "->g"}, 0), {"f": "->g", "g": "g1"}, ("f",), ("f",)),
    Case("a folder in its place", TWO, TURNS, (1, {"f": "/"}, 0), {"f": "/", "g": "g1"}, ("f",), ("f",)),
    Case(
        "a created file that the user makes",
        {"g": "g0"},
        TURNS,
        (1, {"f": MINE}, 0),
        {"f": MINE, "g": "g1"},
        ("f",),
        ("f",),
    ),
    Case(
        "a created file, made and removed",
        {"g": "g0"},
        TURNS,
        (1, {"f": MINE}, 0, {"f": None}),
        {"f": "f1", "g": "g1"},
        (),
        ("f",),
    ),
    Case(
        "a deleted file that the user edits",
        TWO,
        ({"g": "g1"}, {"f": None}),
        (1, {"f": MINE}, 0),
        {"f": MINE, "g": "g1"},
        ("f",),
        ("f",),
    ),
    Case(
        "a deleted file that the user deletes",
        TWO,
        ({"g": "g1"}, {"f": None}),
        (1, {"f": None}, 0),
        {"f": None, "g": "g1"},
        (),
        ("f",),
    ),
    Case("the same undo again", TWO, TURNS, (1, {"f": MINE}, 1), {"f": MINE, "g": "g1"}, ("f",), ("f",)),
    Case("the same undo twice more", TWO, TURNS, (1, {"f": MINE}, 1, 1), {"f": MINE, "g": "g1"}, ("f",), ("f",)),
    Case("a smaller undo after it", TWO, TURNS, (0, {"g": MINE}, 1), {"f": "f1", "g": MINE}, ("g",), ("g",)),
    Case(
        "a smaller undo, the edit taken back",
        TWO,
        TURNS,
        (0, {"g": MINE}, 1, {"g": "g0"}),
        {"f": "f1", "g": "g1"},
        (),
        ("g",),
    ),
    Case(
        "three undos, an edit after the first",
        {**TWO, "h": "h0"},
        ({"h": "h1"}, *TURNS),
        (2, {"f": MINE}, 1, 0),
        {"f": MINE, "g": "g1", "h": "h1"},
        ("f",),
        ("f",),
    ),
    Case(
        "three undos, edits after each",
        {**TWO, "h": "h0"},
        ({"h": "h1"}, *TURNS),
        (2, {"f": MINE}, 1, {"g": MINE}, 0, {"h": MINE}),
        {"f": MINE, "g": MINE, "h": MINE},
        ("f", "g", "h"),
        ("f", "g"),
    ),
    Case(
        "three undos, the edit taken back between them",
        {**TWO, "h": "h0"},
        ({"h": "h1"}, *TURNS),
        (2, {"f": MINE}, 1, {"f": "f0"}, 0),
        {"f": "f1", "g": "g1", "h": "h1"},
    ),
    Case(
        "one file of both turns",
        {"f": "f0"},
        ({"f": "f1"}, {"f": "f2"}),
        (1, {"f": MINE}, 0),
        {"f": MINE},
        ("f",),
        ("f",),
    ),
    Case(
        "back to what another turn left",
        {"f": "f0"},
        ({"f": "f1"}, {"f": "f2"}),
        (1, {"f": "f2"}, 0),
        {"f": "f2"},
        (),
        ("f",),
    ),
    Case(
        "one of two files of a turn",
        {**TWO, "h": "h0"},
        ({"h": "h1"}, {"f": "f1", "g": "g1"}),
        (1, {"f": MINE}, 0),
        {"f": MINE, "g": "g1", "h": "h1"},
        ("f",),
        ("f",),
    ),
    Case(
        "a file in a folder that the undo removed, beside one that the next undo restores",
        {"d/y": "y0"},
        ({"d/y": None}, {"d/x": "x1"}),
        (1, {"d/x": MINE}, 0),
        {"d/x": MINE, "d/y": None},
        ("d/x",),
        ("d/x",),
    ),
    Case(
        "a file in place of the folder that the undo restored",
        {"g": "g0"},
        ({"d/x": "x1", "g": "g1"}, {"d/x": None}),
        (1, {"d": MINE}, 0),
        {"d": MINE, "g": "g1"},
    ),
]


def put(world: World, files: Files) -> None:
    """Make files as they are given."""
    for name, text in files.items():
        path = world.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if text is None:
            if path.parent != world.root and not any(path.parent.iterdir()):
                path.parent.rmdir()
        elif text == "/":
            path.mkdir()
        elif text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            world.write(name, text)


def texts(world: World) -> dict[str, str]:
    """Return files, links and empty folders in the form of `Files`."""
    kinds: dict[str, Callable[[bytes], str]] = {
        "file": bytes.decode,
        "link": lambda target: f"->{target.decode()}",
        "folder": lambda _: "/",
    }
    found = {name: kinds[fact[0]](fact[2]) for name, fact in world.facts().items()}
    return {
        name: text
        for name, text in found.items()
        if text != "/" or not any(other.startswith(f"{name}/") for other in found)
    }


async def turns_of(world: World, turns: tuple[Files, ...]) -> list[Patch]:
    return [await world.step(lambda turn=turn: put(world, turn)) for turn in turns]


@pytest.mark.fast_cases("an edit that is a redo by hand", "a smaller undo after it")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_redo_leaves_what_the_user_made_and_brings_back_the_rest(world: World, case: Case):
    put(world, case.files)
    patches = await turns_of(world, case.turns)
    report: RevertReport | None = None
    for act in case.acts:
        if isinstance(act, int):
            report = await world.snapshots.revert(patches[act:], active=report)
        else:
            put(world, act)
    assert report is not None
    assert tuple(world.inside(report.kept)) == case.named
    assert not set(world.inside([*report.restored, *report.deleted])) & set(case.named)
    redone = await world.snapshots.unrevert(report)
    assert texts(world) == {name: text for name, text in case.wanted.items() if text is not None}
    assert (tuple(world.inside(redone.kept)), redone.failed) == (case.kept, [])


async def test_a_mode_that_the_user_sets_between_two_undos_stays(world: World):
    put(world, {**TWO, "d/x": "x0"})
    patches = await turns_of(world, ({"g": "g1"}, {"f": "f1", "d/x": "x1"}))
    first = await world.snapshots.revert(patches[1:])
    (world.root / "f").chmod(0o600)
    (world.root / "d").chmod(0o700)
    second = await world.snapshots.revert(patches, active=first)
    await world.snapshots.unrevert(second)
    facts = world.facts()
    assert (facts["f"], facts["d"]) == (("file", 0o600, b"f0"), ("folder", 0o700, b""))
    assert texts(world) == {"f": "f0", "g": "g1", "d/x": "x1"}
