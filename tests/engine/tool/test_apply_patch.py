from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.tool import ToolResult
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.world.tools import Workbench, tree


@pytest.fixture
def patch(bench: Workbench) -> ApplyPatchTool:
    return ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)


async def apply(bench: Workbench, patch: ApplyPatchTool, *body: str) -> ToolResult:
    return await bench.call(patch, patchText="\n".join(["*** Begin Patch", *body, "*** End Patch"]))


def fill(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name).write_text(content, newline="")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "is required"),
        ("*** Update File: a\n", "patch verification failed"),
        ("*** Begin Patch\n*** End Patch", "patch is empty"),
        ("*** Begin Patch\n*** Frobnicate File: a\n*** End Patch", "patch verification failed"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing"),
    ],
)
async def test_bad_patches_are_named(bench: Workbench, patch: ApplyPatchTool, text: str, word: str) -> None:
    with pytest.raises(ToolError, match=word):
        await bench.call(patch, patchText=text)


async def test_adds_updates_and_deletes_in_one_question(bench: Workbench, patch: ApplyPatchTool) -> None:
    fill(bench.folder, mod="one\ntwo\n", gone="bye\n")
    result = await apply(
        bench, patch,
        "*** Add File: nested/new.txt", "+created",
        "*** Update File: mod", "@@", "-two", "+2",
        "*** Delete File: gone",
    )  # fmt: skip
    assert {str(path.relative_to(bench.folder)) for path in bench.folder.rglob("*") if path.is_file()} == {
        "nested/new.txt",
        "mod",
    }
    assert (bench.folder / "nested/new.txt").read_text() == "created\n"
    assert (bench.folder / "mod").read_text() == "one\n2\n"
    assert result.output == "Patch applied.\nA nested/new.txt\nM mod\nD gone"
    [ask] = bench.asked
    assert (ask.permission, ask.patterns, ask.always) == ("edit", ["nested/new.txt", "mod", "gone"], ["*"])
    assert [file["type"] for file in ask.metadata["files"]] == ["add", "update", "delete"]
    assert sorted(path.name for path in bench.edited) == ["gone", "mod", "new.txt"]


async def test_move_names_the_new_place_and_keeps_the_mode(bench: Workbench, patch: ApplyPatchTool) -> None:
    fill(bench.folder, old="a\nb\n")
    (bench.folder / "old").chmod(0o755)
    await apply(bench, patch, "*** Update File: old", "*** Move to: sub/new", "@@", " a", "-b", "+c")
    assert not (bench.folder / "old").exists()
    assert (bench.folder / "sub/new").read_text() == "a\nc\n"
    assert (bench.folder / "sub/new").stat().st_mode & 0o777 == 0o755
    assert [(ask.permission, ask.patterns) for ask in bench.asked] == [
        ("read", [str(bench.folder / "old")]),
        ("edit", ["old", "sub/new"]),
    ]
    [file] = bench.asked[1].metadata["files"]
    assert {key: file[key] for key in ("filePath", "relativePath", "movePath", "type", "before", "after")} == {
        "filePath": str(bench.folder / "old"),
        "relativePath": "sub/new",
        "movePath": str(bench.folder / "sub/new"),
        "type": "move",
        "before": "a\nb\n",
        "after": "a\nc\n",
    }


@pytest.mark.parametrize("name", [".env", "link/.env", "sub/../.env"])
@pytest.mark.parametrize("chunk", [(), ("@@", "-A=1", "+A=2")])
async def test_a_file_that_may_not_be_read_is_not_moved(
    bench: Workbench, patch: ApplyPatchTool, name: str, chunk: tuple[str, ...]
) -> None:
    fill(bench.folder, **{".env": "A=1\nKEY=secret\n"})
    (bench.folder / "sub").mkdir()
    (bench.folder / "link").symlink_to(".")
    bench.refused.add("read")
    with pytest.raises(RejectedError):
        await apply(bench, patch, f"*** Update File: {name}", "*** Move to: sub/new", *chunk)
    assert str(bench.folder / ".env") in bench.asked[-1].patterns
    assert (bench.folder / ".env").read_text() == "A=1\nKEY=secret\n"
    assert not (bench.folder / "sub/new").exists()


async def test_move_and_add_overwrite_what_is_there(bench: Workbench, patch: ApplyPatchTool) -> None:
    fill(bench.folder, old="a\n", there="x\n", also="y\n")
    await apply(
        bench, patch, "*** Update File: old", "*** Move to: there", "@@", "-a", "+b", "*** Add File: also", "+z"
    )
    assert {path.name: path.read_text() for path in bench.folder.iterdir()} == {"there": "b\n", "also": "z\n"}


@pytest.mark.parametrize(
    ("content", "body", "after"),
    [
        ("a\nb\nc\nd\ne\n", ["@@", "-b", "+B", "@@", "-d", "+D"], "a\nB\nc\nD\ne\n"),
        ("a\nb\n", ["@@", " a", "+x", " b"], "a\nx\nb\n"),
        ("no end", ["@@", "-no end", "+an end"], "an end\n"),
        ("a\nno end", ["@@", "-a", "+b"], "b\nno end\n"),
        ("fn a\n x\nfn b\n x\n", ["@@ fn b", "- x", "+ y"], "fn a\n x\nfn b\n y\n"),
        ("m\nx\nm\ny\nm\n", ["@@", "-m", "+last", "*** End of File"], "m\nx\nm\ny\nlast\n"),
        ("a\n", ["@@", "+z"], "a\nz\n"),
        ("def f():\n    pass\nend\n", ["@@ def f():", "+    first"], "def f():\n    first\n    pass\nend\n"),
        ("a  \nb\n", ["@@", " a", "-b", "+c"], "a  \nc\n"),
        ("    a\n    b\n", ["@@", " a", "-b", "+c"], "    a\n    c\n"),
        ("say “hi” – now\nx\n", ["@@", ' say "hi" - now', "-x", "+y"], "say “hi” – now\ny\n"),
        ("a\r\nb\r\nc", ["@@", "-b", "+B", "+b"], "a\r\nB\r\nb\r\nc\r\n"),
        ("a\nb\n", ["@@", "-a", "-b"], ""),
        ("a\nb\n", ["-a", "+c", " b", ""], "c\nb\n"),
    ],
)  # fmt: skip
async def test_chunks_find_their_place(
    bench: Workbench, patch: ApplyPatchTool, content: str, body: list[str], after: str
) -> None:
    fill(bench.folder, a=content)
    await apply(bench, patch, "*** Update File: a", *body)
    assert (bench.folder / "a").read_bytes().decode() == after


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (["*** Update File: none", "@@", "-a", "+b"], "does not exist"),
        (["*** Delete File: none"], "does not exist"),
        (["*** Delete File: folder"], "is a folder"),
        (["*** Update File: b", "@@", "-absent", "+x"], "does not hold these lines"),
        (["*** Update File: b", "@@ absent", "-b", "+x"], "has no line 'absent'"),
        (["*** Update File: b", "@@", "-b", "+x", "@@", "-absent", "+y"], "does not hold"),
        (["*** Update File: spaced", "@@", "-x", "+y"], "lines like"),
        (["*** Add File: a", "+again"], "is in the patch twice"),
    ],
)
async def test_patch_that_does_not_fit_changes_nothing(
    bench: Workbench, patch: ApplyPatchTool, body: list[str], word: str
) -> None:
    fill(bench.folder, a="a\n", b="b\n", spaced=" x\n  x\n")
    (bench.folder / "folder").mkdir()
    before = tree(bench.folder)
    with pytest.raises(ToolError, match=word):
        await apply(bench, patch, "*** Update File: a", "@@", "-a", "+changed", *body)
    assert tree(bench.folder) == before
    assert bench.asked == []


@pytest.mark.parametrize("before", ["cat <<'EOF'\n", "<<EOF\n", "apply_patch <<'EOF'\n"])
async def test_heredoc_around_the_patch_is_taken_off(bench: Workbench, patch: ApplyPatchTool, before: str) -> None:
    await bench.call(patch, patchText=f"{before}*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF")
    assert (bench.folder / "a").read_text() == "x\n"


async def test_refused_patch_changes_nothing(bench: Workbench, patch: ApplyPatchTool) -> None:
    bench.refused.add("edit")
    with pytest.raises(RejectedError):
        await apply(bench, patch, "*** Add File: a", "+x")
    assert tree(bench.folder) == {}


async def test_folder_outside_is_asked_for_once(bench: Workbench, patch: ApplyPatchTool, tmp_path: Path) -> None:
    await apply(bench, patch, "*** Add File: ../other/a", "+x", "*** Add File: ../other/b", "+x")
    assert bench.asks("external_directory") == [[str(tmp_path / "other" / "*")]]


async def test_a_patch_quotes_broken_bytes_as_they_are_shown(bench: Workbench, patch: ApplyPatchTool) -> None:
    head = "größe – Länge – Zürich\n".encode()  # enough of UTF-8 that the bytes are broken UTF-8
    (bench.folder / "a").write_bytes(head + b"Ren\xe9\nb\nc\xff = 1\n")
    await apply(bench, patch, "*** Update File: a", "@@", " Ren\ufffd", "-b", "-c\ufffd = 1", "+B", "+c\ufffd = 2")
    assert (bench.folder / "a").read_bytes() == head + b"Ren\xe9\nB\nc\xff = 2\n"


async def test_binary_file_can_be_deleted(bench: Workbench, patch: ApplyPatchTool) -> None:
    (bench.folder / "a.bin").write_bytes(b"\0\1")
    await apply(bench, patch, "*** Delete File: a.bin")
    assert tree(bench.folder) == {}


async def test_patched_file_counts_as_read(bench: Workbench, patch: ApplyPatchTool) -> None:
    fill(bench.folder, a="a\n")
    await apply(bench, patch, "*** Update File: a", "@@", "-a", "+b")
    edit = EditTool(editor=bench.editor)
    await bench.call(edit, filePath="a", oldString="b", newString="c")
    assert (bench.folder / "a").read_text() == "c\n"


@pytest.fixture
def linked(bench: Workbench, tmp_path: Path) -> Workbench:
    """Return the bench with files, folders and what is outside, and links to each of them."""
    (tmp_path / "outside").write_text("precious\n")
    (bench.folder / "folder").mkdir()
    fill(bench.folder / "folder", inner="kept\n")
    fill(bench.folder, target="precious\n")
    targets = {"file": "target", "dir": "folder", "out": "../outside", "gone": "nowhere", "loop": "loop", "abs": "/"}
    for name, target in targets.items():
        (bench.folder / f"to-{name}").symlink_to(target)
    (bench.folder / "folder" / "deep").symlink_to("../target")
    return bench


# As unlink() does (POSIX.1-2017): it removes a link itself.
@pytest.mark.parametrize(
    "name",
    ["to-file", "to-dir", "to-out", "to-gone", "to-loop", "to-abs", "folder/deep", "to-dir/deep", "folder/../to-file"],
)
async def test_a_link_is_deleted_and_what_it_leads_to_stays(
    linked: Workbench, patch: ApplyPatchTool, tmp_path: Path, name: str
) -> None:
    before = tree(tmp_path)
    removed = str((linked.folder / name).parent.resolve().relative_to(tmp_path) / Path(name).name)
    result = await apply(linked, patch, f"*** Delete File: {name}")
    assert tree(tmp_path) == {path: state for path, state in before.items() if path != removed}
    assert "was a link; what it leads to is unchanged" in result.output
    assert linked.asks("external_directory") == []
    [ask] = linked.asked
    assert (ask.permission, ask.metadata["files"][0]["type"]) == ("edit", "delete")
    assert not {"target", "../outside"} & set(ask.patterns)


async def test_a_link_that_leads_into_a_folder_outside_is_asked_for_and_the_file_in_it_is_deleted(
    bench: Workbench, patch: ApplyPatchTool, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    fill(tmp_path / "other", inner="x\n")
    (bench.folder / "there").symlink_to(tmp_path / "other")
    await apply(bench, patch, "*** Delete File: there/inner")
    assert bench.asks("external_directory") == [[str(tmp_path / "other" / "*")]]
    assert tree(tmp_path / "other") == {} and (bench.folder / "there").is_symlink()


@pytest.mark.parametrize("name", ["to-file", "to-out", "folder/deep"])
async def test_a_link_is_not_moved(linked: Workbench, patch: ApplyPatchTool, tmp_path: Path, name: str) -> None:
    before = tree(tmp_path)
    with pytest.raises(ToolError, match="and a patch moves files only"):
        await apply(linked, patch, f"*** Update File: {name}", "*** Move to: new", "@@", "-precious", "+changed")
    assert tree(tmp_path) == before and linked.asked == []


@pytest.mark.parametrize(("name", "changed"), [("to-file", "project/target"), ("to-out", "outside")])
async def test_an_update_still_changes_what_a_link_leads_to(
    linked: Workbench, patch: ApplyPatchTool, tmp_path: Path, name: str, changed: str
) -> None:
    before = tree(tmp_path)
    await apply(linked, patch, f"*** Update File: {name}", "@@", "-precious", "+changed")
    assert (tmp_path / changed).read_text() == "changed\n"
    assert {path for path, state in tree(tmp_path).items() if before[path] != state} == {changed}


async def test_a_link_and_what_it_leads_to_are_changed_by_one_patch(linked: Workbench, patch: ApplyPatchTool) -> None:
    await apply(linked, patch, "*** Delete File: to-file", "*** Update File: target", "@@", "-precious", "+changed")
    assert not (linked.folder / "to-file").is_symlink() and (linked.folder / "target").read_text() == "changed\n"


async def test_a_deleted_link_is_there_again_when_a_later_change_fails(
    linked: Workbench, patch: ApplyPatchTool
) -> None:
    def change() -> None:
        (linked.folder / "target").write_text("the user's\n")

    linked.before_answer = change
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        await apply(linked, patch, "*** Delete File: to-file", "*** Update File: target", "@@", "-precious", "+changed")
    assert (linked.folder / "to-file").readlink() == Path("target")
    assert (linked.folder / "target").read_text() == "the user's\n"


async def test_a_link_that_became_a_file_meanwhile_stays(linked: Workbench, patch: ApplyPatchTool) -> None:
    def change() -> None:
        (linked.folder / "to-file").unlink()
        (linked.folder / "to-file").write_text("the user's\n")

    linked.before_answer = change
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        await apply(linked, patch, "*** Delete File: to-file")
    assert (linked.folder / "to-file").read_text() == "the user's\n"
