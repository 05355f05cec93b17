"""What asks the person, or tells of a failure: each function has the strings stand in a panel or above the prompt."""

import re
from collections.abc import Sequence

from tests.support.hostile_settings import providers
from tests.support.hostile_talk import parts
from tests.support.hostile_world import HostileWorld
from tests.support.model_script import Answer, Call, failure

_MARK = re.compile(r"w\d+")
_QUESTIONS = 10
"""Most questions that one call asks."""


def permissions(world: HostileWorld) -> None:
    """What is asked for, what `always` would allow, a word to the agent; all asked in one step, answered one by one."""
    half = len(world.strings) // 2
    words = "\n".join(f"rm -f nothing # {' '.join(some)}" for some in parts(world.strings[:half], 4))
    named = "\n".join(f"rm -f 'no {' '.join(some)}'" for some in parts(world.strings[half:], 4))
    few = world.texts.sparse
    calls = [
        Call("bash", {"command": words, "description": world.strings[0]}),
        Call("bash", {"command": named, "description": world.strings[1]}),
        *(Call("webfetch", {"url": "https://example.invalid/" + "/".join(part)}) for part in parts(few, 20)),
        *(Call("read", {"filePath": _name(part) + ".env"}) for part in parts(few[: len(few) // 3 + 2], 8)),
    ]
    world.say(Answer(calls=tuple(calls)))
    for left in range(len(calls), 0, -1):
        if left > 1:
            world.terminal.sees(f"1 of {left}")
        world.terminal.listens("reject and tell")
        world.scroll_panel()
        if left % 2 == 0:
            _look_at_always(world)
        if left > 1:
            world.terminal.press("y")
            world.terminal.sees_no_more(f"1 of {left}")
    world.terminal.press("n")
    world.terminal.paste("\n".join(world.strings[:30]))
    world.terminal.press("enter")
    world.ended()
    world.read_through()


def _look_at_always(world: HostileWorld) -> None:
    """Look at what `always` would allow, and go back to the question."""
    world.terminal.press("a")
    world.terminal.listens("y always allow")
    world.scroll_panel()
    world.terminal.press("escape")
    world.terminal.listens("reject and tell")


def questions(world: HostileWorld) -> None:
    """Questions, their subjects, what is offered, and words of the person's own; then what the chat keeps of them."""
    asked = [
        {
            "question": "\n".join(part),
            "header": "".join(part[:3]),
            "options": [{"label": one, "description": one} for one in part],
            "multiple": number % 2 == 1,
        }
        for number, part in enumerate(parts(world.strings, max(20, len(world.strings) // 5)))
    ]
    calls = [Call("question", {"questions": part}) for part in parts(asked, _QUESTIONS)]
    world.say(Answer(calls=tuple(calls)), Answer(text="asked"))
    for part in parts(asked, _QUESTIONS):
        for number in range(len(part)):
            world.terminal.sees(f"question {number + 1} of {len(part)}")
            world.terminal.listens("dismiss, ends the turn")
            world.scroll_panel()
            if part[number]["multiple"]:
                world.terminal.press("1", "2", "enter")
            else:
                world.terminal.press("up", "enter")
    world.ended()
    world.read_through()


def failures(world: HostileWorld) -> None:
    """What providers say when they refuse, and the kind that they give it."""
    for number, part in enumerate(parts(world.texts.sparse, 5)):
        world.turn(failure((400, 404, 418, 422, 401, 403)[number % 6], " ".join(part), kind=part[0]))


def retries(world: HostileWorld) -> None:
    """Whom one waits for: the provider's name, above the prompt while it waits, afterwards in the conversation."""
    names = [one for one in providers(world.strings) if _MARK.search(one)]
    for one in names[: max(3, len(world.texts.sparse) // 12)]:
        mark = _MARK.search(one)
        assert mark is not None
        world.choose_model(f"by {mark.group()}")
        world.turn(_busy(" ".join(world.texts.sparse[:5])), Answer(text="at last"))
    world.choose_model("Scripted model")


def titles(world: HostileWorld) -> None:
    """What the model calls a session: in the title row, the tree, the terminal's title, the questions about it."""
    for number, some in enumerate(parts(world.texts.sparse, 3)):
        world.server.title_answers.append(Answer(text=" ".join(some)))
        world.say(Answer(text="named"))
        world.ended()
        if not number:
            _rename_and_delete(world)


def _rename_and_delete(world: HostileWorld) -> None:
    world.command("/rename")
    world.terminal.press("escape")
    world.command("/delete")
    world.terminal.listens("delete for good")
    world.terminal.press("y")
    world.terminal.sees("Deleted")


def _busy(message: str) -> Answer:
    refused = failure(429, message)
    return Answer(status=refused.status, body=refused.body, headers=(("retry-after-ms", "150"),))


def _name(part: Sequence[str]) -> str:
    return "_".join(part).replace("/", "_").replace("\0", "").encode()[:240].decode(errors="ignore")
