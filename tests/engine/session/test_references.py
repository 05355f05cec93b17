from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from opencode_tui.engine.session.references import ReferenceScope, expand_prompt, expand_references, find_references
from opencode_tui.schema.api.mcp import McpResource
from opencode_tui.schema.api.request import AgentInput, FileInput, TextInput
from opencode_tui.schema.session.part import AgentSource, FilePartSource, SourceText


@pytest.fixture
def place(tmp_path: Path) -> ReferenceScope:
    home, work = tmp_path / "home", tmp_path / "work"
    (work / "src").mkdir(parents=True)
    home.mkdir()
    for path in (work / "a.txt", work / "src" / "b.test.py", work / ".env.local", work / "my file.md", home / "n.md"):
        path.write_text("x\n")
    return ReferenceScope(folders=[work / "src", work], home=home, agents=["explore"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see @a.txt", ["a.txt"]),
        ("@src/b.test.py, then @.env.local.", ["src/b.test.py", ".env.local"]),
        ("(@~/n.md) and @/etc/hosts!", ["~/n.md", "/etc/hosts"]),
        ('@"my file.md" is it', ["my file.md"]),
        ("mail me@example.com or `@a.txt`", []),
        ("twice @a.txt @a.txt", ["a.txt"]),
        ("first\n@a.txt\n@explore: look", ["a.txt", "explore"]),
        ("@ alone, @@double", []),
        ("npm i x@1.2.3 @scope/pkg@2", ["scope/pkg@2"]),
    ],
)
def test_references_are_found(text, names):
    assert [one.name for one in find_references(text)] == names


@given(st.text() | st.text('@a./#L3-"` \né').map(lambda text: f"@{text}"))
def test_every_reference_has_its_position(text):
    for one in find_references(text):
        assert text[one.start : one.start + len(one.value)] == one.value


def test_a_file_becomes_an_attachment_with_the_position_of_its_name(place):
    path = place.folders[1] / "a.txt"
    assert expand_prompt("see @a.txt.", place) == [
        TextInput(text="see @a.txt."),
        FileInput(
            mime="text/plain",
            filename="a.txt",
            url=path.as_uri(),
            source=FilePartSource(type="file", path=str(path), text=SourceText(value="@a.txt", start=4, end=10)),
        ),
    ]


@pytest.mark.parametrize(
    ("text", "query"),
    [("@a.txt#L10-20", "?start=10&end=20"), ("@a.txt#7", "?start=7&end=7"), ("@a.txt#L3-L4,", "?start=3&end=4")],
)
def test_a_range_of_lines_is_part_of_the_address(place, text, query):
    (part,) = expand_references(text, place)
    assert isinstance(part, FileInput)
    assert part.url.endswith(f"/a.txt{query}")


def test_folders_home_and_quoted_names_are_found(place):
    parts = expand_references('@src @~/n.md @"my file.md"', place)
    assert [part.mime for part in parts if isinstance(part, FileInput)] == [
        "application/x-directory",
        "text/plain",
        "text/plain",
    ]


def test_an_agent_is_invited_unless_a_file_has_its_name(place):
    (part,) = expand_references("ask @explore, please", place)
    assert part == AgentInput(name="explore", source=AgentSource(value="@explore", start=4, end=12))
    (place.folders[1] / "explore").write_text("")
    assert isinstance(expand_references("ask @explore", place)[0], FileInput)


def test_what_is_neither_stays_text(place):
    assert expand_prompt("@property\ndef @nobody", place) == [TextInput(text="@property\ndef @nobody")]


def test_a_confined_reference_cannot_leave_nor_name_secrets(place, tmp_path):
    (tmp_path / "secret").write_text("s")
    (place.folders[1] / "link").symlink_to(tmp_path / "secret")
    confined = ReferenceScope(place.folders, place.home, place.agents, is_confined=True)
    names = '@link @../secret @.env.local @~/n.md @"~/n.md" @/etc/hosts'
    assert len(expand_references(names, place)) == 6
    assert expand_references(names, confined) == []
    assert len(expand_references('@a.txt @"my file.md"', confined)) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @notes:test://a.", ["test://a"]),
        ('see @"notes:file:///a b (1).md" and @notes:test://a', ["file:///a b (1).md", "test://a"]),
        ("@notes:test://unknown", []),
        ("@other:test://a", []),
        ("@notes", []),
    ],
)
def test_a_resource_of_a_server_becomes_an_attachment(text: str, found: list[str], place: ReferenceScope) -> None:
    known = [McpResource(name=uri, uri=uri, client="notes") for uri in ("test://a", "file:///a b (1).md")]
    with_resources = replace(place, resources=lambda: known)
    parts = [part for part in expand_references(text, with_resources) if isinstance(part, FileInput)]
    assert [part.url for part in parts] == found
    assert [part.source.client_name for part in parts if part.source] == ["notes"] * len(found)
    assert expand_references(text, replace(with_resources, is_confined=True)) == []


@pytest.mark.parametrize(
    ("text", "template", "found"),
    [
        ("@notes:db://users/7/posts", "db://users/{id}/posts", "db://users/7/posts"),
        ("see @notes:db://users/7.", "db://users/{id}", "db://users/7"),
        ("@notes:db://users/a/b", "db://users/{id}", None),
        ("@notes:file:///a/b.txt", "file:///{+path}", "file:///a/b.txt"),
        ("@notes:file:///a/b.txt", "file://{/path*}", "file:///a/b.txt"),
        ("@notes:db://users?page=2", "db://users{?page}", "db://users?page=2"),
        ("@notes:db://users", "db://users{?page}", "db://users"),
        ("@notes:db://users/", "db://users/{id}", None),
        ("@other:db://users/7", "db://users/{id}", None),
        ("@notes:db://users/7", "db://users/7", None),
        ("@notes:" + "a" * 300, "{a}" * 9, None),
        ("@notes:dbx//users/7", "db.//users/{id}", None),
    ],
)
def test_a_resource_of_a_template_becomes_an_attachment(
    text: str, template: str, found: str | None, place: ReferenceScope
) -> None:
    scope = replace(place, templates=lambda: [McpResource(name="users", uri=template, client="notes")])
    parts = [part for part in expand_references(text, scope) if isinstance(part, FileInput)]
    assert [(part.url, part.source and part.source.uri) for part in parts] == ([(found, found)] if found else [])
    assert expand_references(text, replace(scope, is_confined=True)) == []


def test_a_file_of_the_same_name_comes_before_a_resource(place: ReferenceScope) -> None:
    (place.folders[1] / "notes:a").write_text("x")
    (part,) = expand_references(
        "@notes:a", replace(place, resources=lambda: [McpResource(name="a", uri="a", client="notes")])
    )
    assert isinstance(part, FileInput) and part.url.startswith("file:")


@pytest.mark.parametrize(
    ("text", "name", "symbol"),
    [
        ("@a.txt#parse", "a.txt", "parse"),
        ("@a.txt#parse.", "a.txt", "parse"),
        ("see (@a.txt#_private)", "a.txt", "_private"),
        ('@"my file.md"#parse it', "my file.md", "parse"),
        ("@a.txt#analysé", "a.txt", "analysé"),
        ("@a.txt#L3", "a.txt", None),
        ("@a.txt#3x", None, None),
        ("@src#parse", "src", None),
        ("@a.txt#with#two", None, None),
        ("@c#sharp", "c#sharp", None),
        ("@gone#parse", None, None),
    ],
)
def test_a_symbol_is_named_after_its_file(place, text, name, symbol):
    (place.folders[1] / "c#sharp").write_text("x")
    (place.folders[1] / "c").write_text("x")
    found = expand_references(text, place)
    assert [one.filename for one in found if isinstance(one, FileInput)] == ([name] if name else [])
    for one in found:
        assert isinstance(one, FileInput) and one.source is not None
        assert (one.source.type, one.source.name) == (("symbol", symbol) if symbol else ("file", None))
        assert text[one.source.text.start : one.source.text.end] == one.source.text.value
