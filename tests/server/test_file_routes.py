"""Files over HTTP: found, listed, read, and nothing outside of the project."""

import base64

import pytest


@pytest.fixture
def project(project):
    project.write("src/server/calculator.py", "def add(a, b):\n    return a + b  # NEEDLE\n")
    project.write(".gitignore", "ignored/\n*.log\n")
    project.write("ignored/calculator.py", "NEEDLE\n")
    project.write("run.log", "x\n")
    (project.path / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (project.path / "blob.bin").write_bytes(b"\0\1\2" * 100)
    project.commit()
    return project


@pytest.mark.slow
async def test_files_are_found_by_parts_of_their_names_and_ignored_ones_are_not(serve):
    async with serve() as face:

        async def find(**query: object) -> list[str]:
            return (await face.http.get("/find/file", params=query)).json()

        assert (await find(query="calculat"))[0] == "src/server/calculator.py"
        assert await find(query="CALCULATOR.py", type="file") == ["src/server/calculator.py"]
        assert (await find(query="src", type="directory"))[0] == "src/"
        assert len(await find(query="", limit=2)) == 2
        files = await find(query="", dirs="false")
        assert files and not any(name.endswith("/") for name in files)
        assert await find(query="zzzzqqq") == []


@pytest.mark.slow
async def test_lines_are_found_with_their_place(serve):
    async with serve() as face:
        hits = (await face.http.get("/find", params={"pattern": "NEED.E"})).json()
        none = (await face.http.get("/find", params={"pattern": "nothing here"})).json()
        wrong = await face.http.get("/find", params={"pattern": "("})
    assert hits == [
        {
            "path": {"text": "src/server/calculator.py"},
            "lines": {"text": "    return a + b  # NEEDLE\n"},
            "line_number": 2,
            "absolute_offset": 15,
            "submatches": [{"match": {"text": "NEEDLE"}, "start": 20, "end": 26}],
        }
    ]
    assert (none, wrong.status_code) == ([], 400)


async def test_a_folder_is_listed_folders_first_with_what_git_ignores_marked(serve, project):
    async with serve() as face:
        top = (await face.http.get("/file", params={"path": "."})).json()
        inner = (await face.http.get("/file", params={"path": "src/server"})).json()
    assert [(entry["name"], entry["type"], entry["ignored"]) for entry in top] == [
        ("ignored", "directory", True), ("src", "directory", False), (".gitignore", "file", False),
        ("a.py", "file", False), ("blob.bin", "file", False), ("dot.png", "file", False), ("run.log", "file", True),
    ]  # fmt: skip
    assert inner == [
        {
            "name": "calculator.py",
            "path": "src/server/calculator.py",
            "absolute": str(project.path / "src/server/calculator.py"),
            "type": "file",
            "ignored": False,
        }
    ]


async def test_a_file_is_read_where_the_oldest_clients_look_for_it(serve):
    async with serve() as face:
        read = (await face.http.get("/file", params={"path": "src/server/calculator.py"})).json()
    assert (read["type"], read["content"].splitlines()[0]) == ("text", "def add(a, b):")


async def test_a_file_is_read_as_text_as_an_image_or_not_at_all(serve):
    async with serve() as face:

        async def read(path: str) -> dict:
            return (await face.http.get("/file/content", params={"path": path})).json()

        text, image, blob = [await read(name) for name in ("a.py", "dot.png", "blob.bin")]
    assert text == {"type": "text", "content": "x = 1\n"}
    assert (image["encoding"], image["mimeType"]) == ("base64", "image/png")
    assert base64.b64decode(image["content"]).startswith(b"\x89PNG")
    assert blob == {"type": "binary", "content": "", "mimeType": "application/octet-stream"}


@pytest.mark.slow
async def test_what_lies_outside_is_not_there(serve, project, tmp_path):
    (tmp_path / "outside").write_text("secret")
    (project.path / "link").symlink_to(tmp_path / "outside")
    paths = ["../outside", "/etc/passwd", "link", "../../../../etc/hostname", "none", "x" * 300]
    routes = [(route, path) for route in ("/file/content", "/file") for path in paths]
    async with serve() as face:
        answers = [await face.http.get(route, params={"path": path}) for route, path in routes]
    assert [answer.status_code for answer in answers] == [404] * len(routes)
    assert not any("secret" in answer.text for answer in answers)
