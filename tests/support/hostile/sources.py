"""By name, every source of text that the screen has, and which of the strings it must have shown."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from opencode_tui.engine.session.step.tool_calls import CONCURRENT_CALLS
from tests.support.hostile.settings import providers
from tests.support.hostile.world import HostileWorld, leaks, marks
from tests.support.provider.model_script import Answer, Call, failure

# Conversations: in each function the model, its tools or its provider send the strings; all of the screen is read.

T = TypeVar("T")

_FORMS = (
    "{}",
    "# {}",
    "- {}",
    "[{}](http://{})",
    "> {}",
    "`{}`",
    "**{}**",
    "| {} | b |\n|---|---|\n| {} | d |",
    "![{}]({})",
)


def answers(world: HostileWorld) -> None:
    """Prose, headings, lists, links, quotes, tables."""
    lines = [_FORMS[at % len(_FORMS)].replace("{}", one) for at, one in enumerate(world.strings)]
    world.turn(Answer(text="\n\n".join(lines), delta_size=7))


def code(world: HostileWorld) -> None:
    """Fenced code, in languages of their own."""
    blocks = [f"```{one.split()[0] if one.split() else 'x'}\n{one}\n```" for one in world.strings[::10]]
    world.turn(Answer(text="```python\n" + "\n".join(world.strings) + "\n```\n\n" + "\n\n".join(blocks)))


def thoughts(world: HostileWorld) -> None:
    """Reasoning, opened."""
    world.turn(Answer(reasoning="\n".join(world.strings), text="thought"))
    world.command("/thinking")
    world.read_through()
    world.command("/thinking")


def tools(world: HostileWorld) -> None:
    """Names of tools that do not exist, arguments of those that do and of broken ones, their errors."""
    calls = [_call(number, one) for number, one in enumerate(world.texts.sparse)]
    for part in parts(calls, 100):
        world.turn(Answer(calls=tuple(part)), Answer(text="tried"))


def _call(number: int, text: str) -> Call:
    match number % 6:
        case 0:
            return Call(text, {text: text})
        case 1:
            return Call("read", {"filePath": text})
        case 2:
            return Call("grep", {"pattern": "[" + text, "path": text})
        case 3:
            return Call("webfetch", {"url": "http://127.0.0.1:1/" + text})
        case 4:
            return Call("write", '{"filePath": ' + json.dumps(text) + ", ")
        case _:
            return Call("edit", {"filePath": text, "oldString": text, "newString": ""})


def outputs(world: HostileWorld) -> None:
    """What commands print and what is read, folded and opened."""
    _write_out(world)
    path = str(world.folder / "hostile.txt")
    given = (
        Call("bash", {"command": "cat hostile.txt", "description": world.strings[0]}),
        Call("bash", {"command": "cat hostile.txt >&2; exit 3", "description": "d"}),
        Call("read", {"filePath": path}),
        Call("grep", {"pattern": "w", "path": path}),
    )
    world.turn(Answer(calls=given), Answer(text="printed"))
    world.choose("Expand or collapse tool output")
    world.read_through()
    _open_tool(world, 2)
    world.choose("Expand or collapse tool output")


def shell(world: HostileWorld) -> None:
    """A command of the user's own."""
    _write_out(world)
    world.command("/new")
    world.command("!cat hostile.txt")
    world.terminal.sees("Done")
    world.choose("Expand or collapse tool output")
    world.read_through()
    _open_tool(world, 0)
    world.choose("Expand or collapse tool output")


def todos(world: HostileWorld) -> None:
    """Plans in the conversation and in the sidebar, each as long as the conversation shows whole; then one of all strings."""
    plans = [*parts(world.strings, 12), world.strings]
    listed = [[{"content": one, "status": "pending", "id": one} for one in plan] for plan in plans]
    calls = [Call("todowrite", {"todos": plan}) for plan in listed]
    world.turn(Answer(calls=tuple(calls)), Answer(text="planned"))
    world.choose("Expand or collapse tool output")
    world.read_through()
    world.choose("Expand or collapse tool output")


def changes(world: HostileWorld) -> None:
    """Diffs: in the conversation, on their page, in the preview of an undo."""
    path = str(world.folder / "changed.txt")
    old, new = "\n".join(world.strings), "\n".join(reversed(world.strings))
    world.turn(Answer(calls=(Call("write", {"filePath": path, "content": old}),)), Answer(text="wrote"))
    world.turn(Answer(calls=(Call("write", {"filePath": path, "content": new}),)), Answer(text="wrote"), is_new=False)
    _read_pages(world, files=1)


def files(world: HostileWorld) -> None:
    """Names of files: listed, found, changed, completed in the prompt."""
    place = world.folder / "names"
    (place / "bytes").mkdir(parents=True)
    for one in world.strings:
        (place / one.replace("/", "_").replace("\0", "")[:80]).write_text("x\n", "utf-8")
    for byte in range(128, 256):
        (place / "bytes" / f"b{chr(0xDC00 + byte)}").write_text("x")
    given = (
        Call("list", {"path": str(place)}),
        Call("glob", {"pattern": "names/*"}),
        Call(
            "bash", {"command": 'ls names; for f in names/*; do [ -f "$f" ] && echo y > "$f"; done', "description": "d"}
        ),
    )
    world.turn(Answer(calls=given), Answer(text="listed"))
    _read_pages(world, files=len(world.strings))
    for letters in ("@w1", "@b"):
        world.complete(letters)


def tasks(world: HostileWorld) -> None:
    """Work of agents: what it is called, which agent, what it asks and answers."""
    for part in parts(world.texts.sparse, 20):
        right = [Call("task", {"description": one, "prompt": one, "subagent_type": "explore"}) for one in part]
        wrong = [Call("task", {"description": one, "prompt": one, "subagent_type": one}) for one in part]
        said = [Answer(text=one) for one in part]
        world.turn(Answer(calls=(*right, *wrong)), *said, Answer(text="worked"))


def _write_out(world: HostileWorld) -> None:
    (world.folder / "hostile.txt").write_text("\n".join(world.strings), "utf-8", "surrogateescape")


def _open_tool(world: HostileWorld, above: int) -> None:
    """Open the tool so many above the last one, all of it, and read it from end to end."""
    world.terminal.press("ctrl+up", *["up"] * above, "enter")
    if "read all" in world.terminal.shown():
        world.terminal.press("enter")
        world.page("pagedown")
    else:
        world.page("pagedown")
        world.page("pageup")
    world.terminal.press("escape", "escape")


def _read_pages(world: HostileWorld, *, files: int) -> None:
    world.terminal.sees("Changes")
    world.open_page("/diff")
    world.page("pagedown")
    for _ in range(0, files, 20):
        world.terminal.burst("tab", 20)
    world.terminal.press("escape")
    for command in ("/timeline", "/context"):
        world.open_page(command)
        world.page("pagedown")
        world.terminal.press("escape")
    world.command("/undo")
    world.terminal.listens("cancel")
    world.scroll_panel()
    world.terminal.press("escape")


def parts(whole: Sequence[T], size: int) -> Sequence[Sequence[T]]:
    """Cut a list into pieces of that size."""
    return [whole[at : at + size] for at in range(0, len(whole), size)]


# Questions and failures: each function shows the strings in a panel or above the prompt.

_MARK = re.compile(r"w\d+")
_QUESTIONS = 10
"""Most questions that one call asks."""


def permissions(world: HostileWorld) -> None:
    """What is asked for, what `always` would allow, a word to the agent; asked in few steps, answered one by one."""
    half = len(world.strings) // 2
    words = "\n".join(f"rm -f nothing # {' '.join(some)}" for some in parts(world.strings[:half], 4))
    named = "\n".join(f"rm -f 'no {' '.join(some)}'" for some in parts(world.strings[half:], 4))
    few = world.texts.sparse
    calls = [
        Call("bash", {"command": words, "description": world.strings[0]}),
        Call("bash", {"command": named, "description": world.strings[1]}),
        *(Call("webfetch", {"url": "https://example.invalid/" + quote("/".join(part))}) for part in parts(few, 20)),
        *(Call("read", {"filePath": _name(part) + ".env"}) for part in parts(few[: len(few) // 3 + 2], 8)),
    ]
    count = -(-len(calls) // CONCURRENT_CALLS)  # of one length, so that none has a single call
    steps = parts(calls, -(-len(calls) // count))
    world.say(*(Answer(calls=tuple(step)) for step in steps))
    lefts = [(left, step is steps[-1]) for step in steps for left in range(len(step), 0, -1)]
    looked = 0
    for left, is_last_step in lefts:
        if left > 1:
            world.terminal.sees(f"1 of {left}")
        world.terminal.listens("reject and tell")
        world.scroll_panel()
        if "always allow" in world.terminal.shown():  # not for names with wildcards
            _look_at_always(world)
            looked += 1
        if left > 1 or not is_last_step:
            world.terminal.press("y")
        if left > 1:
            world.terminal.sees_no_more(f"1 of {left}")
    assert looked
    world.terminal.press("n")
    world.terminal.paste("\n".join(world.strings[:30]))
    world.terminal.press("enter")
    world.ended()
    world.read_through()


def _look_at_always(world: HostileWorld) -> None:
    """Look at the rule that `always` would store, and go back to the question."""
    world.terminal.press("e")
    world.terminal.listens("always allow   esc")
    world.scroll_panel()
    world.terminal.press("escape")
    world.terminal.listens("reject and tell")


def questions(world: HostileWorld) -> None:
    """Questions, their headings, options, and answers of the user's own; then what the chat shows of them."""
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
            world.terminal.listens("cancel (stops the turn)")
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
    world.terminal.listens("delete")
    world.terminal.press("y")
    world.terminal.sees("Moved to the trash")


def _busy(message: str) -> Answer:
    refused = failure(429, message)
    return Answer(status=refused.status, body=refused.body, headers=(("retry-after-ms", "150"),))


def _name(part: Sequence[str]) -> str:
    return "_".join(part).replace("/", "_").replace("\0", "").encode()[:240].decode(errors="ignore")


# Lists, pages and the prompt.

MOST_LINES = 12
"""Lines of a paste that the prompt still shows in full."""


def lists(world: HostileWorld) -> None:
    """Commands, agents, models, providers, themes, keys, from their first row to their last."""
    for command in ("/agents", "/models", "/themes", "/help"):
        world.command(command)
        world.page("pagedown", at_once=3)
        world.terminal.press("escape")
    world.terminal.press("ctrl+p")
    world.page("pagedown", at_once=3)
    world.terminal.press("escape")
    for letters in ("/w", "/p", "@w"):
        world.complete(letters)


def pages(world: HostileWorld) -> None:
    """The status of the folder, with the names of skills and what is wrong with the settings."""
    world.open_page("/status")
    world.page("pagedown")
    world.terminal.press("escape")


def trust(world: HostileWorld) -> None:
    """What a folder would start if one trusted it."""
    world.command("/trust")
    world.terminal.listens("don't trust")
    world.scroll_panel()
    world.terminal.press("escape")


def pastes(world: HostileWorld) -> None:
    """What is pasted: short, long and opened, as a filter of a list."""
    for part in parts(world.strings, MOST_LINES):
        world.terminal.paste("\n".join(part))
        world.terminal.calm()
        world.terminal.press("ctrl+c")
    world.terminal.paste("\n".join(world.strings))
    world.terminal.sees("[Pasted")
    world.terminal.press("ctrl+x", "v")
    world.page("pagedown")
    world.terminal.press("escape", "ctrl+c")
    world.terminal.press("ctrl+p")
    world.terminal.paste("".join(world.strings[:10]))
    world.terminal.press("escape")


def prompts(world: HostileWorld) -> None:
    """What was sent: in the chat, earlier prompts brought back, prompts put aside."""
    world.server.script_anew()
    for part in parts(world.texts.sparse, MOST_LINES):
        world.command("/new")
        world.server.script_anew(Answer(text="heard"))
        world.terminal.paste("\n".join(part))
        world.terminal.press("enter")
        world.terminal.sees("heard")
        world.read_through()
        world.terminal.press("up")
        world.choose("Stash prompt")
        world.choose("Restore stashed prompt")
        world.terminal.press("ctrl+c")


def notes(world: HostileWorld) -> None:
    """Messages above the prompt: a name that a file cannot have, a command that does not exist, a failed one."""
    world.turn(Answer(text="said"))
    for part in parts(world.texts.sparse, 8):
        text = "".join(part).replace("\n", "")
        world.command("/export")
        world.terminal.sees("Export this session as")
        world.terminal.press("enter")
        world.terminal.sees("Export as markdown")
        world.terminal.press("ctrl+u")
        world.terminal.paste("no/such/../" + text)
        world.terminal.press("enter")
        world.command("/export")
        world.terminal.sees("Export this session as")
        world.terminal.press("enter")
        world.terminal.sees("Export as markdown")
        world.terminal.press("ctrl+u")
        world.terminal.paste("exported " + text)
        world.terminal.press("enter")
        world.terminal.paste("/" + text.replace("/", ""))
        world.terminal.press("escape", "enter")
        world.terminal.press("ctrl+c")


@dataclass(frozen=True, slots=True)
class Source:
    """`act` has the screen show the strings. So much of them, `least` of 1, must have stood there to be read."""

    act: Callable[[HostileWorld], None]
    least: float
    is_sparse: bool = False
    """Whether each string takes a turn or a question, so that a quick run takes a few."""


SOURCES: Mapping[str, Source] = {
    "answers": Source(answers, 0.9),
    "code": Source(code, 0.9),
    "thoughts": Source(thoughts, 0.9),
    "tools": Source(tools, 0.7, is_sparse=True),
    "outputs": Source(outputs, 0.9),
    "shell": Source(shell, 0.9),
    "todos": Source(todos, 0.9),
    "changes": Source(changes, 0.9),
    "files": Source(files, 0.9),
    "tasks": Source(tasks, 0.9, is_sparse=True),
    "permissions": Source(permissions, 0.9),
    "questions": Source(questions, 0.9),
    "failures": Source(failures, 0.6, is_sparse=True),
    "retries": Source(retries, 0.0, is_sparse=True),
    "titles": Source(titles, 0.6, is_sparse=True),
    "lists": Source(lists, 0.45),
    "pages": Source(pages, 0.05),
    "trust": Source(trust, 0.05),
    "pastes": Source(pastes, 0.9),
    "prompts": Source(prompts, 0.9, is_sparse=True),
    "notes": Source(notes, 0.6, is_sparse=True),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What became of one source: what got through of `bytes`, and which share of the strings could be read."""

    name: str
    leaks: list[str]
    share: float
    bytes: int


def show(world: HostileWorld, name: str) -> Shown:
    """Have the screen show the strings through one source, and look at every byte that reached the terminal."""
    source = SOURCES[name]
    world.take()
    world.terminal.stood.clear()
    source.act(world)
    written = world.take()
    wanted = marks(world.texts.sparse if source.is_sparse else world.strings)
    share = len(wanted & marks(world.terminal.stood)) / max(1, len(wanted))
    return Shown(name, list(leaks(written)), share, len(written))
