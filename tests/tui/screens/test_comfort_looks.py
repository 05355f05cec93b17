"""Pictures of the comforts: keys after the leader, lists to pick from, messages that wait."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.api.side_question import SideAnswer
from tests.support.terminal.conversation import Story, moment
from tests.support.terminal.scripted_client import SONNET, Script
from tests.tui.screens.test_looks import DARK, LIGHT, PLAIN, Act, Situation, chat_of, idle, opened_app, press, working

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

ANSWER = """The loop in `rows_from()` ends one row too early. Change it like this:

```python
def rows_from(text: str) -> list[Row]:
    return [Row(line) for line in text.splitlines()]
```

Then run:

```sh
pytest -q tests/test_last_row.py
ruff check src
```
"""


def with_code() -> Script:
    """Two responses, the later one with code."""
    script = idle()
    story = Story()
    story.user("Which function turns the text into rows?", "1")
    story.answer(["`rows_from()` in `src/csvkit/parser.py`."], at="1")
    story.user("The last row of every CSV is dropped. What do I change, and how do I test it?", "4")
    story.answer([ANSWER], at="5")
    script.messages = story.messages
    return script


def waiting(count: int) -> Callable[[], Script]:
    """A turn with messages that wait for its end."""

    def made() -> Script:
        script = working()
        script.settings = {"tui": {"delivery": "queue"}}
        texts = ["Then add a line to the changelog.", "And bump the version to 1.4.0 in pyproject.toml, please."]
        story = Story()
        waits = [story.user(texts[number % 2], "6", delivery="queue") for number in range(count)]
        script.messages = [*script.messages, *waits]
        return script

    return made


def checked(**last: Any) -> Callable[[], Script]:
    """A session whose check ran at the end of its last turn."""

    def made() -> Script:
        script = with_code()
        run = {"at": moment("9"), "took": 3_400, "messageID": script.messages[-1].info.id, "turn": 2, **last}
        until = {"command": "python -m pytest -q tests/test_reader.py", "turns": 10, "last": run}
        script.sessions = [script.sessions[0].changed(metadata={"until": until}), *script.sessions[1:]]
        return script

    return made


def leader(*keys: str) -> Act:
    """Press the leader and wait until the keys are listed."""

    async def act(pilot: Pilot[Any]) -> None:
        await press(*keys)(pilot)
        await pilot.pause(0.6)
        assert chat_of(pilot).leader_keys.display

    return act


def with_aside() -> Script:
    """A session with an answer to a side question."""
    script = with_code()
    text = "An `IndexError`; that is why the guard is there:\n\n```python\nif not rows:\n    return None\n```"
    script.aside = SideAnswer(text=text, model=SONNET.ref, cost=0.0003, input=12_000, cached=11_900, output=40)
    return script


async def ask_aside(pilot: Pilot[Any]) -> None:
    """Ask a side question."""
    chat_of(pilot).prompt.editor.put("/btw what does rows[-1] do for an empty list?")
    await press("enter")(pilot)
    await pilot.pause(0.6)


async def new_agent(pilot: Pilot[Any]) -> None:
    """Open the form of an agent, and fill its first fields."""
    chat_of(pilot).prompt.editor.put("/create")
    await press("enter")(pilot)
    await pilot.pause(0.6)
    await press("a", *"reviewer", "tab", *"Finds", "space", *"faults", "tab")(pilot)


PICK = press("ctrl+x", "p", "down")

SITUATIONS: dict[str, Situation] = {
    "leader-keys": Situation(idle, (110, 34), DARK, leader("ctrl+x")),
    "leader-keys-light-in-60-columns": Situation(idle, (60, 34), LIGHT, leader("ctrl+x")),
    "leader-keys-in-160-columns": Situation(idle, (160, 36), DARK, leader("ctrl+x")),
    "code-blocks-to-copy": Situation(with_code, (100, 34), DARK, PICK),
    "code-blocks-to-copy-light-in-160-columns": Situation(with_code, (160, 40), LIGHT, PICK),
    "code-blocks-to-copy-in-60-columns": Situation(with_code, (60, 30), DARK, PICK),
    "code-blocks-to-copy-in-16-colors-and-ascii": Situation(with_code, (100, 24), PLAIN, PICK),
    "check-that-fails": Situation(checked(exit=1, end="same"), (140, 34), DARK),
    "check-that-fails-in-16-colors-and-ascii": Situation(checked(exit=1), (100, 34), PLAIN),
    "check-that-passed-light-in-60-columns": Situation(checked(exit=0, end="passed"), (60, 28), LIGHT),
    "side-question": Situation(with_aside, (100, 34), DARK, ask_aside),
    "side-question-light-in-60-columns": Situation(with_aside, (60, 28), LIGHT, ask_aside),
    "new-agent": Situation(idle, (100, 34), DARK, new_agent),
    "new-agent-light-in-60-columns": Situation(idle, (60, 28), LIGHT, new_agent),
    "messages-that-wait": Situation(waiting(2), (100, 34), DARK),
    "messages-that-wait-light-in-160-columns": Situation(waiting(5), (160, 36), LIGHT),
    "messages-that-wait-in-60-columns": Situation(waiting(1), (60, 28), DARK),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS[name])
    assert snap_compare(app, terminal_size=SITUATIONS[name].size, run_before=act)
