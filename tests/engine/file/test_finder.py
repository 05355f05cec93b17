"""Finding files by parts of their names."""

from opencode_tui.engine.file.search import KEPT_MS, FileFinder


class Watch:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


async def test_names_in_the_base_come_before_names_in_the_path_and_short_ones_before_long(tmp_path):
    for name in ("server/notes.txt", "src/server.py", "src/very/deep/server.py", ".hidden/server.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = await FileFinder(directory=tmp_path, clock=Watch()).find("server", kind="file")
    assert found == ["src/server.py", "src/very/deep/server.py", ".hidden/server.py", "server/notes.txt"]


async def test_a_slip_of_the_finger_still_finds(tmp_path):
    (tmp_path / "configuration.py").write_text("x")
    assert await FileFinder(directory=tmp_path, clock=Watch()).find("confiugration") == ["configuration.py"]


async def test_the_list_of_names_is_read_anew_after_a_moment(tmp_path):
    watch = Watch()
    finder = FileFinder(directory=tmp_path, clock=watch)
    before = await finder.find("new")
    (tmp_path / "new.py").write_text("x")
    kept = await finder.find("new")
    watch.now = KEPT_MS + 1
    assert (before, kept, await finder.find("new")) == ([], [], ["new.py"])
