"""Attachments of a request: files, ranges of lines, folders, images, PDF, data."""

import base64
import os
from itertools import product

import pytest

from opencode_tui.engine.mcp.content import read_blocks
from opencode_tui.engine.session.request.attachment import MAX_BYTES, file_input
from opencode_tui.schema.api.request import FileInput, PromptInput
from opencode_tui.schema.session.part import FilePart, FilePartSource, TextPart
from tests.support.world.engine import MODEL, opened

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


async def parts_of(world, *given):
    """Store a request without an answer and return its parts."""
    session = await world.new_session()
    await world.client.prompts.prompt(session.id, PromptInput(model=MODEL, no_reply=True, parts=list(given)))
    (message,) = await world.messages(session)
    return message.parts


async def test_a_missing_file_is_reported_and_the_request_is_sent(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        note, file = await parts_of(world, file_input(tmp_path / "gone.txt"))
        assert (note.synthetic, file.filename) == (True, "gone.txt")
        assert "gone.txt could not be read: file not found" in note.text
        assert world.server.requests == []


@pytest.mark.parametrize(
    "url", ["data:text/plain;base64,!", "file:///tmp/a%00b", "http://[", "data:text/plain;base64,YQ==x", "", "nonsense"]
)
async def test_an_address_that_is_none_costs_itself_alone(environ, tmp_path, url):
    async with opened(environ, tmp_path) as world:
        *_, file = await parts_of(world, FileInput(mime="text/plain", filename="a", url=url))
        assert (file.filename, file.url) == ("a", url)


@pytest.mark.parametrize("url", ["data:image/png;base64,a!b=", "data:image/png;base64,", "data:image/png,abc"])
async def test_an_unreadable_picture_is_reported_and_not_sent(environ, tmp_path, url):
    async with opened(environ, tmp_path) as world:
        (note,) = await parts_of(world, FileInput(mime="image/png", filename="a.png", url=url))
        assert note.text.startswith("Attachment a.png could not be read: ")


async def test_a_file_is_shown_as_the_read_tool_shows_it(environ, tmp_path):
    (tmp_path / "a b.txt").write_text("one\ntwo\nthree\n")
    given = file_input(tmp_path / "a b.txt")
    async with opened(environ, tmp_path) as world:
        call, text, file = await parts_of(world, given.changed(url=f"{given.url}?start=2&end=3"))
        assert (call.synthetic, text.synthetic) == (True, True)
        assert call.text.startswith("Called the Read tool") and '"offset": 2, "limit": 2' in call.text
        assert "2: two\n3: three" in text.text and "1: one" not in text.text
        assert file.url.endswith("/a%20b.txt?start=2&end=3")


async def test_a_folder_is_listed(environ, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x")
    async with opened(environ, tmp_path) as world:
        _, text, folder = await parts_of(world, file_input(tmp_path / "src"))
        assert ("<entries>\na.py" in text.text, folder.mime) == (True, "application/x-directory")


@pytest.mark.parametrize(
    ("name", "data", "mime"), [("a.png", PNG, "image/png"), ("a.pdf", b"%PDF-1.7", "application/pdf")]
)
async def test_images_and_pdf_are_sent_unchanged(environ, tmp_path, name, data, mime):
    (tmp_path / name).write_bytes(data)
    async with opened(environ, tmp_path) as world:
        _, file = await parts_of(world, file_input(tmp_path / name))
        assert isinstance(file, FilePart)
        assert (file.mime, file.url) == (mime, f"data:{mime};base64,{base64.b64encode(data).decode()}")


KINDS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1",
    "image/gif": b"GIF89a\1\0\1\0\0\0\0",
    "image/webp": b"RIFF\x1a\0\0\0WEBPVP8L",
    "image/bmp": b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3",
}


def address(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


async def test_a_picture_is_what_its_content_is_whatever_its_name_or_its_client_says(environ, tmp_path):
    wrong = []
    async with opened(environ, tmp_path) as world:
        for name, mime in product(("a.jpg", "a.png", "a.pdf"), KINDS):
            (tmp_path / name).write_bytes(KINDS[mime])
            given = file_input(tmp_path / name)
            as_data = given.changed(url=address(given.mime, KINDS[mime]))
            files = [part for part in await parts_of(world, given, as_data) if isinstance(part, FilePart)]
            found = [(file.mime, file.url, file.filename) for file in files]
            wrong += [] if found == [(mime, address(mime, KINDS[mime]), name)] * 2 else [(name, mime, found)]
    assert wrong == []


async def test_a_picture_of_an_unknown_kind_is_what_its_name_says(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        for data in (b"\0\1\2\3", b"RIFF\0\0\0\0WAVE", b"\0\0\0\x18ftypheic"):
            (tmp_path / "a.png").write_bytes(data)
            _, file = await parts_of(world, file_input(tmp_path / "a.png"))
            assert isinstance(file, FilePart)
            assert (file.mime, file.url) == ("image/png", address("image/png", data))


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


# The form of a pointer: git-lfs, docs/spec.md, 3.7.
@pytest.mark.fast_cases(
    "version https://git-lfs.gith..-1: version https://git-lfs.g..-a.pdf", "BM is a text-1: BM is a text-a.png"
)
@pytest.mark.parametrize("name", ["a.png", "a.pdf"])
@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (POINTER.encode(), "1: version https://git-lfs.github.com/spec/v1"),
        (b"<html>404</html>", "1: <html>404</html>"),
        (b"BM is a text", "1: BM is a text"),
        ("größe".encode("latin-1"), "1: größe"),
        (b"\xef\xbb\xbfa", "1: a"),
        (b"", "(End of file - total 0 lines)"),
    ],
)
async def test_text_that_is_named_as_a_picture_is_read(environ, tmp_path, name, data, shown):
    (tmp_path / name).write_bytes(data)
    async with opened(environ, tmp_path) as world:
        call, text, file = await parts_of(world, file_input(tmp_path / name))
        assert call.text.startswith("Called the Read tool") and shown in text.text
        assert (file.mime, file.url) == ("text/plain", (tmp_path / name).as_uri())


async def test_a_pipe_that_is_named_as_a_picture_is_reported(environ, tmp_path):
    os.mkfifo(tmp_path / "a.png")
    async with opened(environ, tmp_path) as world:
        note, file = await parts_of(world, file_input(tmp_path / "a.png"))
        assert "could not be read" in note.text and "is a pipe, socket or device" in note.text
        assert not file.url.startswith("data:")


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"\xff\xfe", b"a%20b?c#d.txt", "größe.txt".encode()])
async def test_a_file_is_attached_whatever_bytes_its_name_has(environ, tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    path.write_text("words")
    async with opened(environ, tmp_path) as world:
        _, text, file = await parts_of(world, file_input(path))
        assert ("1: words" in text.text, file.url) == (True, path.as_uri())


def test_a_picture_of_a_server_is_what_its_content_is():
    data = base64.b64encode(KINDS["image/png"]).decode()
    block = {"type": "image", "mimeType": "image/jpeg", "data": data}
    resource = {"type": "resource", "resource": {"uri": "a://b/c.jpg", "mimeType": "image/jpeg", "blob": data}}
    broken = {"type": "image", "mimeType": "image/jpeg", "data": "!"}
    found = [(one["mime"], one["url"]) for one in read_blocks([block, resource, broken]).attachments]
    assert found == [("image/png", f"data:image/png;base64,{data}")] * 2 + [("image/jpeg", "data:image/jpeg;base64,!")]


@pytest.mark.slow
async def test_a_too_large_image_is_not_sent_and_reported(environ, tmp_path):
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    async with opened(environ, tmp_path) as world:
        note, _ = await parts_of(world, file_input(tmp_path / "a.png"))
        assert isinstance(note, TextPart) and f"at most {MAX_BYTES} can be attached" in note.text


@pytest.mark.parametrize("mime", ["text/markdown", "application/json", "image/svg+xml", "application/ld+json"])
async def test_text_of_any_kind_is_read(environ, tmp_path, mime):
    (tmp_path / "a").write_text("<words/>")
    given = FileInput(mime=mime, filename="a", url=(tmp_path / "a").as_uri())
    async with opened(environ, tmp_path) as world:
        _, text, file = await parts_of(world, given)
        assert ("1: <words/>" in text.text, file.mime) == (True, "text/plain")


async def test_text_that_comes_as_data_is_read(environ, tmp_path):
    given = FileInput(mime="text/plain", filename="stdin", url="data:text/plain,one%20two")
    async with opened(environ, tmp_path) as world:
        assert [part.text for part in (await parts_of(world, given))[:2]][1] == "one two"


async def test_unreadable_attachments_are_reported(environ, tmp_path):
    text = {"value": "@notes", "start": 0, "end": 6}
    source = FilePartSource.model_validate(
        {"type": "resource", "text": text, "clientName": "wiki", "uri": "wiki://notes"}
    )
    resource = FileInput(mime="text/plain", filename="notes", url="wiki://notes", source=source)
    page = FileInput(mime="text/plain", filename="page", url="https://example.com/page")
    async with opened(environ, tmp_path) as world:
        first, *_, second, _ = await parts_of(world, resource, page)
    assert first.text == (
        "Attachment notes could not be read: there is no MCP server 'wiki'; servers of this folder: none"
    )
    assert second.text.startswith("Attachment page could not be read: text can be attached by")


async def test_a_symbol_is_attached_with_all_its_lines(environ, tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\ndef f():\n    a\n    b\ny = 2\n")
    lines = {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 5}}
    text = {"value": "@f", "start": 0, "end": 2}
    source = FilePartSource.model_validate(
        {"type": "symbol", "path": str(file), "text": text, "range": lines, "name": "f"}
    )
    given = FileInput(mime="text/plain", filename="a.py", url=f"{file.as_uri()}?start=2&end=2", source=source)
    async with opened(environ, tmp_path) as world:
        _, content, _ = await parts_of(world, given)
    assert "def f():" in content.text and "    b" in content.text
    assert "x = 1" not in content.text and "y = 2" not in content.text


@pytest.mark.parametrize("name", ["notes.md", "lnk/secret.md", "picture.png", "config.txt", "lnk"])
async def test_a_link_of_the_project_to_the_outside_or_to_secrets_is_not_attached(environ, tmp_path, name):
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project, outside):
        folder.mkdir()
    for file in (outside / "secret.md", project / ".env"):
        file.write_text("CANARY")
    (project / "lnk").symlink_to("../outside")
    (project / "notes.md").symlink_to("../outside/secret.md")
    (project / "picture.png").symlink_to("../outside/secret.md")
    (project / "config.txt").symlink_to(".env")
    async with opened(environ, project) as world:
        note, *rest = await parts_of(world, file_input(project / name))
        assert "could not be read: it leads to" in note.text
        assert "name that file itself" in note.text
        assert "CANARY" not in str([part.to_dict() for part in rest])


async def test_what_the_user_names_itself_is_attached(environ, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("OWN")
    (project / "real.md").write_text("OWN")
    (project / "link.md").symlink_to("real.md")
    (tmp_path / "outside.md").write_text("OWN")
    async with opened(environ, project) as world:
        for path in (project / ".env", project / "link.md", tmp_path / "outside.md"):
            _, text, _ = await parts_of(world, file_input(path))
            assert "1: OWN" in text.text
