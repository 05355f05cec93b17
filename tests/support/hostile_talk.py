"""What a conversation shows: each function has the model, its tools or its provider say the strings, and reads all of it."""

import json
from collections.abc import Sequence
from typing import TypeVar

from tests.support.hostile_world import HostileWorld
from tests.support.model_script import Answer, Call

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
    world.choose("Open or fold finished tools")
    world.read_through()
    _open_tool(world, 2)
    world.choose("Open or fold finished tools")


def shell(world: HostileWorld) -> None:
    """The person's own command."""
    _write_out(world)
    world.command("/new")
    world.command("!cat hostile.txt")
    world.terminal.sees("Done")
    world.choose("Open or fold finished tools")
    _open_tool(world, 0)
    world.choose("Open or fold finished tools")


def todos(world: HostileWorld) -> None:
    """Plans, in the conversation and beside it, each as long as the conversation shows one whole; then one of all."""
    plans = [*parts(world.strings, 12), world.strings]
    listed = [[{"content": one, "status": "pending", "id": one} for one in plan] for plan in plans]
    calls = [Call("todowrite", {"todos": plan}) for plan in listed]
    world.turn(Answer(calls=tuple(calls)), Answer(text="planned"))
    world.choose("Open or fold finished tools")
    world.read_through()
    world.choose("Open or fold finished tools")


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
    world.terminal.listens("keep everything")
    world.scroll_panel()
    world.terminal.press("escape")


def parts(whole: Sequence[T], size: int) -> Sequence[Sequence[T]]:
    """Cut a list into pieces of that size."""
    return [whole[at : at + size] for at in range(0, len(whole), size)]
