"""A search in a real terminal: type, see hits, enter; the part is in view and marked. The same on a server."""

from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.records import assistant, user
from tests.support.sessions.searched import SearchStore
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.repo import make_repo
from tests.tui.test_attached import Served

pytestmark = pytest.mark.slow


@pytest.fixture
def other(tmp_path: Path, paths: Paths) -> Path:
    """Another folder with a session whose first answer has the word, far from its end."""
    (tmp_path / "other").mkdir()
    store = SearchStore(paths)
    store.searcher.close()
    first = [user("where?"), assistant("The xylophone is in the attic.")]
    filler = [one for number in range(40) for one in (user(f"question {number}"), assistant(f"answer {number}"))]
    store.write("ses_attic00000000", *first, *filler, title="In the attic", directory=str(tmp_path / "other"))
    return tmp_path / "other"


def _is_marked(terminal: ScreenTerminal, word: str) -> bool:
    """Return whether the word is drawn in another style than the text before it."""
    for row in terminal.cells():
        text = "".join(character for character, _ in row)
        at = text.find(f"The {word} is")
        if at >= 0:
            return row[at][1] != row[at + 4][1]
    return False


def _search(terminal: ScreenTerminal, words: str) -> None:
    terminal.press("ctrl+x", "l")
    terminal.sees("to search the content")
    terminal.type("/")
    terminal.sees("Search the content of all sessions")
    terminal.type(words)
    terminal.sees("1 match in 1 session")
    terminal.sees("The xylophone is in the attic.")


def _opened(terminal: ScreenTerminal) -> None:
    terminal.press("enter")
    terminal.sees("1 of 1")
    text = terminal.sees("The xylophone is in the attic.")
    assert "answer 39" not in text
    assert _is_marked(terminal, "xylophone")
    terminal.press("escape")
    terminal.sees_no_more("1 of 1")
    terminal.press("ctrl+x", "q")
    assert terminal.ends() == 0


def test_enter_opens_the_part_in_its_folder(start: Open, other: Path) -> None:
    with start() as terminal:
        terminal.sees("fake-model")
        _search(terminal, "xylophone attic")
        _opened(terminal)


def test_the_same_on_a_server(tmp_path: Path, environ: dict[str, str], server: ModelServer, other: Path) -> None:
    project = make_repo(tmp_path / "project")
    project.commit("begin", **{"a.py": "x = 1\n"})
    served = Served(project, environ, server)
    with served.serve(), served.attach() as terminal:
        terminal.sees("fake-model")
        _search(terminal, "xylophone attic")
        _opened(terminal)
