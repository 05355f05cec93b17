"""Patches as Codex's `apply-patch` and OpenCode apply them, and where nothing is written instead.

The scenarios and numbers are those of openai/codex, `codex-rs/apply-patch/tests/fixtures/scenarios` (Apache-2.0), with texts of
our own. Only 15 ends otherwise here: a patch is applied as a whole or not at all.
"""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.schema.error import ToolError
from tests.support.rows import each
from tests.support.world.tools import Workbench, bench_in, tree

Files = dict[str, str]
SCENARIOS: dict[str, tuple[Files, str, Files | None]] = {
    "001 add a file": ({}, "*** Add File: notes.md\n+# Notes\n", {"notes.md": "# Notes\n"}),
    "002 several operations": (
        {"list": "a\nb\n", "gone": "x\n"},
        "*** Add File: sub/made\n+hello\n*** Delete File: gone\n*** Update File: list\n@@\n-b\n+B\n",
        {"list": "a\nB\n", "sub/made": "hello\n"},
    ),
    "003 several chunks": (
        {"f": "1\n2\n3\n4\n"}, "*** Update File: f\n@@\n-2\n+two\n@@\n-4\n+four\n", {"f": "1\ntwo\n3\nfour\n"},
    ),
    "004 move to a new folder": (
        {"a/f": "from\n", "a/g": "stays\n"},
        "*** Update File: a/f\n*** Move to: b/c/f\n@@\n-from\n+to\n",
        {"b/c/f": "to\n", "a/g": "stays\n"},
    ),
    "005 an empty patch": ({"f": "x\n"}, "", None),
    "006 a line that is missing": ({"f": "a\nb\n"}, "*** Update File: f\n@@\n-absent\n+c\n", None),
    "007 delete a missing file": ({"f": "x\n"}, "*** Delete File: absent\n", None),
    "008 an update without lines": ({"f": "x\n"}, "*** Update File: f\n", None),
    "009 update a missing file": ({"f": "x\n"}, "*** Update File: absent\n@@\n-a\n+b\n", None),
    "010 move over an existing file": (
        {"a/f": "from\n", "b/f": "there\n"},
        "*** Update File: a/f\n*** Move to: b/f\n@@\n-from\n+to\n",
        {"b/f": "to\n"},
    ),
    "011 add over an existing file": ({"f": "old\n"}, "*** Add File: f\n+new\n", {"f": "new\n"}),
    "012 delete a folder": ({"d/f": "x\n"}, "*** Delete File: d\n", None),
    "013 an unknown header": ({"f": "x\n"}, "*** Rename File: f\n", None),
    "014 a line end at the end is added": (
        {"f": "no end"}, "*** Update File: f\n@@\n-no end\n+one\n+two\n", {"f": "one\ntwo\n"},
    ),
    "015 a failure after a file that could be added": (
        {}, "*** Add File: made\n+x\n*** Update File: absent\n@@\n-a\n+b\n", None,
    ),
    "016 lines that are only added": (
        {"f": "a\nb\n"}, "*** Update File: f\n@@\n+c\n+d\n", {"f": "a\nb\nc\nd\n"},
    ),
    "017 blanks before a header": ({"f": "old\n"}, "  *** Update File: f\n@@\n-old\n+new\n", {"f": "new\n"}),
    "017 blanks before the second header": (
        {"f": "old\n"}, "*** Add File: g\n+x\n   *** Update File: f  \n@@\n-old\n+new\n", {"f": "new\n", "g": "x\n"},
    ),
    "017 a line like a header in an update": (
        {"f": "a\n*** Update File: g\nb\n"},
        "*** Update File: f\n@@\n a\n *** Update File: g\n-b\n+c\n",
        {"f": "a\n*** Update File: g\nc\n"},
    ),
    "019 letters beyond ASCII": (
        {"f": "erste\ngrößer ☕\n"}, "*** Update File: f\n@@\n erste\n-größer ☕\n+größer ☕ ✅\n", {"f": "erste\ngrößer ☕ ✅\n"},
    ),
    "020 delete a file": ({"f": "x\n", "g": "y\n"}, "*** Delete File: f\n", {"g": "y\n"}),
    "021 lines that are only deleted": ({"f": "a\nb\nc\n"}, "*** Update File: f\n@@\n a\n-b\n c\n", {"f": "a\nc\n"}),
    "022 the end of the file": (
        {"f": "a\nb\n"}, "*** Update File: f\n@@\n a\n-b\n+B\n*** End of File\n", {"f": "a\nB\n"},
    ),
    # of OpenCode's tests
    "a context that the second chunk misses": (
        {"f": "a\nb\n"}, "*** Update File: f\n@@\n-a\n+A\n@@ absent\n-b\n+B\n", None,
    ),
    "the second of two equal blocks": (
        {"f": "fn a\n  x\nfn b\n  x\n"}, "*** Update File: f\n@@ fn b\n-  x\n+  y\n", {"f": "fn a\n  x\nfn b\n  y\n"},
    ),
    "the last of two equal lines": (
        {"f": "x\na\nx\n"}, "*** Update File: f\n@@\n-x\n+y\n*** End of File\n", {"f": "x\na\ny\n"},
    ),
    "blanks at line ends": ({"f": "a  \nb\n"}, "*** Update File: f\n@@\n a\n-b\n+c\n", {"f": "a  \nc\n"}),
    "another indentation": (
        {"f": "  if a:\n      b\n"}, "*** Update File: f\n@@\n if a:\n-    b\n+    c\n", {"f": "  if a:\n      c\n"},
    ),
    "typographic characters": (
        {"f": "say “a” – now\nit’s\n"},
        "*** Update File: f\n@@\n-say \"a\" - now\n+say \"b\" - now\n it's\n",
        {"f": "say “b” – now\nit’s\n"},
    ),
    "a failure in the last of three files": (
        {"f": "a\n", "g": "b\n", "h": "c\n"},
        "*** Update File: f\n@@\n-a\n+A\n*** Delete File: g\n*** Update File: h\n@@\n-absent\n+C\n",
        None,
    ),
    "a blank line at the end that the file does not have": (
        {"f": "a\nb\n"}, "*** Update File: f\n@@\n-a\n+A\n b\n \n", {"f": "A\nb\n"},
    ),
    "a blank line before added lines that the file does not have": (
        {"f": "a\nb\n"}, "*** Update File: f\n@@\n a\n \n+c\n", None,
    ),
}  # fmt: skip


@pytest.mark.slow
@each(("before", "after"), [("", ""), (" ", " "), ("", "\n\n"), ("\n", " \n")])
@each("name", SCENARIOS)
async def test_a_patch_is_applied_as_a_whole_or_not_at_all(row_path: Path, name: str, before: str, after: str) -> None:
    """Blanks around both markers are scenarios 018 and 020."""
    bench = bench_in(row_path)
    files, body, expected = SCENARIOS[name]
    for path, text in files.items():
        (bench.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (bench.folder / path).write_text(text)
    state = tree(bench.folder)
    tool = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    call = bench.call(tool, patchText=f"{before}*** Begin Patch{before}\n{body}{before}*** End Patch{after}")
    if expected is None:
        with pytest.raises(ToolError):
            await call
        assert tree(bench.folder) == state
        assert bench.asked == []
        return
    await call
    found = {
        str(path.relative_to(bench.folder)): path.read_text() for path in bench.folder.rglob("*") if path.is_file()
    }
    assert found == expected


async def test_a_refusal_shows_the_lines_of_files_that_were_read_only(bench: Workbench) -> None:
    (bench.folder / "f").write_text("first line\nsecond line\n")
    tool = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    text = "*** Begin Patch\n*** Update File: f\n@@\n first line\n-second lime\n+third\n*** End Patch"
    with pytest.raises(ToolError) as unread:
        await bench.call(tool, patchText=text)
    assert "second line" not in str(unread.value)
    await bench.read("f")
    with pytest.raises(ToolError, match="line 2 is not the quoted 'second lime'") as known:
        await bench.call(tool, patchText=text)
    assert "\n2: second line" in str(known.value)


AGAIN = "\nNote: f: the lines at 1 are also at 3, 5; an @@ line says which are meant."


@pytest.mark.parametrize(("context", "notes"), [("", AGAIN), (" a", "")])
async def test_lines_that_are_there_several_times_are_named(bench: Workbench, context: str, notes: str) -> None:
    (bench.folder / "f").write_text("x\na\nx\na\nx\n")
    tool = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    text = f"*** Begin Patch\n*** Update File: f\n@@{context}\n-x\n+y\n*** End Patch"
    result = await bench.call(tool, patchText=text)
    assert result.output == f"Patch applied.\nM f{notes}"
    assert (bench.folder / "f").read_text().count("y") == 1
