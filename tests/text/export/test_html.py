"""The page of a session: what it shows, that nothing of a session becomes markup, its size; in a real browser too."""

import json
import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest

from opencode_tui.text.export.html import Live, message_html, session_page
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.hostile.markup import hostile_markup
from tests.support.hostile.strings import steering
from tests.support.sessions.records import assistant, call, image, reasoning, session_info, text, user

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n import os\n-x = 1\n+x = 'two'\n"


class _Reader(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def page_of(*messages, **fields) -> str:
    return "".join(session_page(session_info(directory="/p", **fields), messages))


def hostile_session(count: int):
    """Return a session with hostile texts in every place that a page shows."""
    messages = []
    for number, bad in enumerate(hostile_markup(count)):
        request = user(bad, image(bad, name=bad)) if number % 3 == 0 else user(bad)
        diff = DIFF.replace("'two'", bad.replace("\n", " "))
        answer = assistant(
            reasoning(bad),
            bad,
            call("1", "bash", given={"command": bad}, output=bad, title=bad, details={"exit": 1, "output": bad}),
            call(
                "2",
                "edit",
                given={"filePath": bad},
                output=bad,
                title=bad,
                details={"diff": diff, "filediff": {"file": f"{bad}.py"}},
            ),
            call("3", bad, given={bad: bad}, output=bad),
            call("4", "webfetch", status="error", given={"url": bad}, output=bad),
            parent=request,
            agent=bad,
        )
        messages += [request, answer.changed(info=answer.info.changed(model_id=bad))]
    return session_info(directory="/p", title=hostile_markup(1)[0] + "<script>"), messages


@pytest.mark.slow
def test_a_page_shows_prompts_answers_calls_changes_and_pictures():
    request = user("Make x two", image(PIXEL))
    answer = assistant(
        reasoning("Think **hard**."),
        call(
            "1",
            "edit",
            given={"filePath": "/p/a.py"},
            output="ok",
            details={"diff": DIFF, "filediff": {"file": "a.py", "additions": 1, "deletions": 1}},
        ),
        call("2", "bash", given={"command": "pytest -q"}, output="1 failed", details={"exit": 1}),
        "Done, see `a.py`:\n\n```python\ndef f(): return 'two'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        parent=request,
    )
    page = page_of(request, answer, title="Make x two")
    words = _Reader(page).words
    for shown in (
        "Make x two",
        "Think hard.",
        "Edit a.py",
        "pytest -q",
        "exit 1",
        "1 failed",
        "2 + x = 'two'",
        "Done, see a.py",
    ):
        assert shown in words
    assert f'src="data:image/png;base64,{PIXEL}"' in page
    assert "<i class=k>def</i>" in page and "<td>1</td>" in page and "<s class=a>" in page
    assert page.count("<details class='d e' open>") == 1


def test_synthetic_text_is_not_shown_and_a_message_without_anything_has_an_empty_place():
    page = page_of(user("seen", text("for the model", synthetic=True)), assistant())
    assert "seen" in page and "for the model" not in page
    assert re.search(r"<section id=m-msg_\w+ class=a></section>", page)


def test_a_page_forbids_everything_but_its_styles_and_pictures():
    page = page_of(user("a"))
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert "<script" not in page
    live = "".join(session_page(session_info(), [user("a")], Live("events", "n0nce")))
    assert '<script nonce="n0nce" data-events="events">' in live and live.count("<script") == 1


@pytest.mark.slow
def test_no_text_of_a_hostile_session_becomes_markup():
    info, messages = hostile_session(500)
    page = "".join(session_page(info, messages))
    reader = _Reader(page)
    assert len(reader.elements) > 5_000
    allowed = {
        "id",
        "class",
        "href",
        "rel",
        "src",
        "alt",
        "open",
        "content",
        "name",
        "http-equiv",
        "charset",
        "lang",
        "start",
    }
    assert {tag for tag, _ in reader.elements} & {
        "script",
        "iframe",
        "object",
        "embed",
        "form",
        "link",
        "base",
        "svg",
        "template",
        "input",
    } == set()
    assert {name for _, attributes in reader.elements for name in attributes} <= allowed
    links = [str(attributes["href"]) for tag, attributes in reader.elements if tag == "a"]
    assert links and all(link.startswith(("https://", "http://", "mailto:", "#m-")) for link in links)
    assert [attributes for tag, attributes in reader.elements if tag == "img"] == []
    assert page.count("<meta ") == 5 and page.count("<style>") == 1
    assert steering(page.replace("\u2028", "")) == []


def test_a_part_with_foreign_data_costs_itself_only():
    bad = call("1", "todowrite", given={}, details={"todos": 3})
    page = page_of(user("before"), assistant(bad, "after"))
    assert "before" in page and "after" in page and "cannot be shown" in page


@pytest.mark.slow
def test_a_page_is_at_most_its_session_and_60_kb_and_needs_little_memory():
    code = "def f(value: int) -> str:\n    # comment\n    return str(value) + 'x' * 2\n" * 12
    messages = []
    for number in range(200):
        request = user(f"Prompt {number} with <angle> & more")
        messages += [
            request,
            assistant(
                call(
                    "1",
                    "read",
                    given={"filePath": "/p/a.py"},
                    output="\n".join(f"{at}: {line}" for at, line in enumerate(code.splitlines(), 1)),
                ),
                call(
                    "2",
                    "edit",
                    given={"filePath": "/p/a.py", "oldString": "a", "newString": "b"},
                    output="ok",
                    details={"diff": DIFF, "filediff": {"file": "a.py"}},
                ),
                f"Answer **{number}**:\n\n```python\n{code}```\n",
                parent=request,
            ),
        ]
    info = session_info(directory="/p")
    exported = json.dumps({"info": info.to_dict(), "messages": [one.to_dict() for one in messages]}, indent=2)
    assert len(list(session_page(info, messages[:20]))) > 20  # what the first page leaves in caches is not counted
    tracemalloc.start()
    size = sum(len(piece.encode()) for piece in session_page(info, messages))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(messages) == 400
    assert size <= len(exported) + 60_000
    assert peak < size // 4


def test_one_message_is_the_same_alone_as_on_the_page():
    request = user("hello")
    assert message_html(request, "/p") in page_of(request)


@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
def test_a_browser_shows_a_hostile_session_without_script_and_without_a_request(tmp_path: Path):
    info, messages = hostile_session(200)
    path = tmp_path / "page.html"
    path.write_text("".join(session_page(info, [user("hi", image(PIXEL)), *messages])), encoding="utf-8")
    with Chromium(tmp_path) as browser:
        page = browser.open(path.as_uri())
        assert [one for one in page.requests if not one.startswith("data:image/png;base64,")] == [path.as_uri()]
        assert page.reports == []
        counts = page.value(
            "['script','iframe','object','embed','form','link','base','svg'].map(n => document.querySelectorAll(n).length)"
        )
        assert counts == [0] * 8
        assert page.value("document.querySelectorAll('section').length") == len(messages) + 1
        assert page.value("document.querySelector('img').naturalWidth") == 1
        assert page.value("document.documentElement.scrollWidth <= innerWidth")
