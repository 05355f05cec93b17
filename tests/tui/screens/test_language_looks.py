"""Pictures of language servers: the errors of edits, the rows of the sidebar, the page `/lsp`."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.api.language import LanguageServerState, ServerStatus, Symbol, SymbolLocation
from opencode_tui.schema.event.folder_event import LspUpdated
from opencode_tui.schema.session.part import ToolPart
from tests.support.terminal.conversation import ROOT, Story, edit
from tests.support.terminal.scripted_client import Script, ScriptedClient
from tests.tui.screens.test_looks import DARK, LIGHT, PLAIN, Situation, chat_of, idle, opened_app, press

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]


def server(name: str, status: ServerStatus, detail: str = "", **fields: Any) -> LanguageServerState:
    return LanguageServerState(id=name, name=name, root=fields.pop("root", "."), status=status, detail=detail, **fields)


SERVERS = [
    server("ty", "connected", memory=207_000_000, files=6),
    server("typescript", "starting", root="web"),
    server("clangd", "error", "it used 1.6 GB of memory, more than 1.5 GB; restart it with /lsp", root="native"),
    server("gopls", "stopped", root="tools"),
    server("rust", "missing", "runs code of the project; trust the folder with `opencode-tui trust`"),
    server("php intelephense", "missing", "not installed; npm install -g intelephense"),
    server("lua-ls", "ready", "starts when a file is read"),
]


def error(line: int, character: int, message: str) -> dict[str, Any]:
    start = {"line": line - 1, "character": character - 1}
    return {"range": {"start": start, "end": start}, "severity": 1, "message": message, "source": "ty"}


def with_errors(part: ToolPart, **found: list[dict[str, Any]]) -> ToolPart:
    state: Any = part.state
    diagnostics = {f"{ROOT}/{name}": errors for name, errors in found.items()}
    return part.changed(state=state.changed(metadata={**state.metadata, "diagnostics": diagnostics}))


def edited() -> Script:
    """Edits that brought errors: one in a file, two in two files, one whose message is hostile and long."""
    story = Story()
    story.user("The last row of every CSV is dropped. Find out why and fix it.", "4")
    many = [error(number, 5, f"Name `row_{number}` used when not defined") for number in range(1, 24)]
    story.answer(
        [
            with_errors(edit(story), **{"src/csvkit/parser.py": [error(44, 18, "Operator `+` is not supported")]}),
            with_errors(
                edit(story, "src/csvkit/writer.py"),
                **{
                    "src/csvkit/writer.py": [error(7, 1, "\x1b[31mExpected `int`,\nfound " + "`str` " * 40)],
                    "src/csvkit/reader.py": [error(12, 9, "Module `csvkit.writer` has no member `Row`")],
                },
            ),
            with_errors(edit(story, "src/csvkit/many.py"), **{"src/csvkit/many.py": many}),
            edit(story, "src/csvkit/fine.py"),
            "All rows are kept now.",
        ],
        at="4",
    )
    script = idle()
    script.messages = story.messages
    script.languages = SERVERS
    return script


def with_symbols() -> Script:
    """A folder with files and symbols whose names match."""
    script = idle()
    found = [("parse_row", "parser.py", 39), ("reparse", "writer.py", 12), ("Parser", "parser.py", 8)]
    for name, file, line in found:
        place = {"line": line - 1, "character": 4}
        where = {"uri": f"file://{ROOT}/src/csvkit/{file}", "range": {"start": place, "end": place}}
        script.symbols.append(Symbol(name=name, kind=12, location=SymbolLocation.model_validate(where)))
    return script


async def see_servers(pilot: Pilot[Any]) -> None:
    """Let a server report that it changed."""
    client: ScriptedClient = chat_of(pilot).control.client
    client.send(LspUpdated())
    await pilot.pause(0.3)


OPEN = press("ctrl+up", "up", "up", "enter", "up", "enter", "up", "enter")
LSP = press("slash", *"lsp", "enter")

SITUATIONS: dict[str, Situation] = {
    "errors-and-servers": Situation(edited, (150, 48), DARK, see_servers),
    "errors-and-servers-light": Situation(edited, (150, 48), LIGHT, see_servers),
    "errors-in-60-columns": Situation(edited, (60, 40), DARK),
    "errors-opened": Situation(edited, (110, 60), DARK, OPEN),
    "errors-opened-in-16-colors-and-ascii": Situation(edited, (80, 60), PLAIN, OPEN),
    "symbols-after-an-at": Situation(with_symbols, (110, 30), DARK, press(*"see", "space", "at", *"pars")),
    "symbols-after-an-at-in-60-columns": Situation(
        with_symbols, (60, 24), LIGHT, press(*"see", "space", "at", *"pars")
    ),
    "servers": Situation(edited, (120, 20), DARK, LSP),
    "servers-light-in-60-columns": Situation(edited, (60, 20), LIGHT, LSP),
    "servers-in-16-colors-and-ascii": Situation(edited, (100, 20), PLAIN, LSP),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS[name])
    assert snap_compare(app, terminal_size=SITUATIONS[name].size, run_before=act)
