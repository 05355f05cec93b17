"""The page of agents, commands and skills, and the forms that make new ones and add MCP servers; loaded with the first of them."""

import asyncio
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from opencode_tui.client.definitions import MODES, Definition, Kind, Where, find_definition, write_definition
from opencode_tui.schema.api.mcp import McpAdd, McpStore
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import BusyError
from opencode_tui.schema.record import JsonObject
from opencode_tui.text.permission import short_source
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.chat.start import reopen_folder
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.keys.keyed import cancels, confirms
from opencode_tui.tui.pages.definitions import Defined, DefinitionsScreen
from opencode_tui.tui.pages.form import Field, FormScreen, Outcome, Values

ON_SERVER = "the files are on the server; make them there"

_WHERE = (("user", "all your projects"), ("project", "this project; others who have the repository get it"))
_TEXTS: dict[Kind, tuple[str, str]] = {
    "agent": ("Prompt", "What the agent is and how it works; empty for the prompt of its model"),
    "command": ("Prompt", "What /NAME sends; $1 and $ARGUMENTS are its arguments"),
    "skill": ("Instructions", "What the model reads when it uses the skill"),
}
_MODES = dict(zip(MODES, ("you choose it, and agents call it", "you choose it", "only agents call it"), strict=True))

_SHOWN_LINES = 8
"""Lines of a file that the question about it shows."""


@action("definitions_view", loads="the agents, commands and skills")
async def view_definitions(chat: Chat) -> None:
    """Show the agents, commands and skills of the folder."""
    catalog, project = chat.control.client.catalog, chat.control.client.project
    places = await project.places()
    agents = [one for one in await catalog.agents() if not one.hidden]
    commands = [one for one in await catalog.commands() if one.source == "command"]
    skills = await catalog.skills()

    def find() -> list[Defined]:
        found = [
            Defined(
                "agent",
                one.name,
                one.description or "",
                None if one.native else find_definition("agent", one.name, places),
                is_built_in=one.native,
            )
            for one in agents
        ]
        found += [
            Defined(
                "command",
                one.name,
                one.description or one.template,
                None if one.built_in else find_definition("command", one.name, places),
                is_built_in=bool(one.built_in),
            )
            for one in commands
        ]
        found += [Defined("skill", one.name, one.description, Path(one.location)) for one in skills]
        return found

    defined = await asyncio.to_thread(find)
    chat.open_page(
        DefinitionsScreen(
            defined,
            places,
            added=lambda kind: _open_form(chat, places, kind),
            changed=lambda: chat.do(_use_changed(chat, "The files are read again")),
        )
    )


def _open_form(chat: Chat, places: Places, kind: Kind, values: Values | None = None) -> None:
    if not chat.control.is_alone:
        chat.show_note("note", "Not available here", ON_SERVER)
        return
    label, hint = _TEXTS[kind]

    def fields_of(_values: Values) -> Sequence[Field]:
        fields = [Field("name", "Name", hint="lower-case letters, digits, - and _")]
        fields.append(Field("description", "Description", hint="in a sentence: what it is for"))
        if kind == "agent":
            fields.append(Field("mode", "Use", MODES[0], choices=tuple(_MODES.items())))
        if kind != "skill":
            fields.append(Field("model", "Model", hint="provider/model; empty for the one that is chosen"))
        return [*fields, Field("text", label, hint=hint), Field("where", "For", "user", choices=_WHERE)]

    def outcome(values: Values) -> Outcome:
        one = _definition(kind, values)
        return Outcome(short_source(str(one.path(places)), places), one.content().splitlines(), one.problem())

    def done(values: Values) -> None:
        one = _definition(kind, values)
        if one.where == "project":
            _ask(chat, places, one, values)
        else:
            chat.do(_write(chat, places, one))

    title = f"New {kind}"
    form = FormScreen(
        title,
        fields_of,
        outcome=outcome,
        done=done,
        values=values,
        closed=lambda: chat.load_page("Loading the agents, commands and skills", view_definitions(chat)),
    )
    chat.open_page(form)


def _definition(kind: Kind, values: Values) -> Definition:
    return Definition(
        kind,
        values.get("name", "").strip(),
        description=values.get("description", ""),
        text=values.get("text", ""),
        model=values.get("model", "").strip(),
        mode=values.get("mode", MODES[0]),
        where=cast("Where", values.get("where", "user")),
    )


def _ask(chat: Chat, places: Places, one: Definition, values: Values) -> None:
    """Ask before a file of the project is written, which others get and which steers agents."""

    def back() -> None:
        chat.panels.close()
        _open_form(chat, places, one.kind, values)

    lines = one.content().splitlines()
    about = [f"  {short_source(str(one.path(places)), places)}", "", *(f"  {line}" for line in lines[:_SHOWN_LINES])]
    answers = (confirms("write it", lambda: chat.do(_write(chat, places, one))), cancels("back to the form", back))
    sentence = (
        "Everyone who works in this repository gets it. Where you have trusted the folder, it asks to be trusted again."
    )
    chat.panels.open(ConfirmPanel(Confirmation("Write this file of the project?", about, sentence, answers)))


async def _write(chat: Chat, places: Places, one: Definition) -> None:
    chat.panels.close()
    path = await asyncio.to_thread(write_definition, one, places)
    name = f"/{one.name}" if one.kind == "command" else f"{one.kind} {one.name}"
    await _use_changed(chat, f"Made {name}  {short_source(str(path), places)}")


async def _use_changed(chat: Chat, words: str) -> None:
    """Open the folder again with what was written; while a session runs it is used from the next start."""
    try:
        await reopen_folder(chat)
    except BusyError:
        chat.show_note("done", words, "a session is running: it is used from the next start")
        return
    await chat.completing.read_commands()
    chat.show_note("done", words)


def open_mcp_form(chat: Chat, places: Places) -> None:
    """Open the form of a new MCP server; it is written into the settings, and tried at once."""

    def fields_of(values: Values) -> Sequence[Field]:
        kinds = (("command", "a program on this machine"), ("address", "a server behind an address"))
        fields = [Field("name", "Name", hint="such as files"), Field("kind", "Kind", "command", choices=kinds)]
        if values.get("kind", "command") == "command":
            fields.append(Field("command", "Command", hint="such as npx -y @modelcontextprotocol/server-filesystem ."))
            fields.append(Field("more", "Variables", hint="KEY=VALUE, parted by blanks; {env:NAME} keeps a secret out"))
        else:
            fields.append(Field("url", "Address", hint="https://…"))
            fields.append(Field("more", "Headers", hint="KEY=VALUE, parted by blanks; {env:NAME} keeps a secret out"))
        return [*fields, Field("where", "For", "user", choices=_WHERE)]

    def outcome(values: Values) -> Outcome:
        name, is_own = values.get("name", "").strip(), values.get("where", "user") == "user"
        entry, problem = mcp_entry(values)
        folder = Path(places.config if is_own else places.directory)
        lines = json.dumps({"mcp": {name or "NAME": entry}}, indent=2, ensure_ascii=False).splitlines()
        return Outcome(f"into opencode.json(c) of {short_source(str(folder), places)}", lines, problem)

    def done(values: Values) -> None:
        chat.load_page("Adding and starting the server", _add_server(chat, values))

    form = FormScreen(
        "New MCP server",
        fields_of,
        outcome=outcome,
        done=done,
        closed=lambda: chat.run("mcp_view"),
    )
    chat.open_page(form)


def mcp_entry(values: Values) -> tuple[JsonObject, str]:
    """Return the entry of a server for the settings, and why it cannot be written yet."""
    is_program = values.get("kind", "command") == "command"
    problem = "" if values.get("name", "").strip() else "Give it a name"
    try:
        command = shlex.split(values.get("command", ""))
        pairs = [one.partition("=") for one in shlex.split(values.get("more", ""))]
    except ValueError as error:
        return {}, f"Not a command line: {error}"
    if wrong := next((name for name, sign, _ in pairs if not sign or not name), None):
        problem = problem or f"Write {wrong} as KEY=VALUE"
    given = {name: value for name, _, value in pairs}
    if is_program:
        problem = problem or ("" if command else "Give the command that starts it")
        return {"type": "local", "command": command, **({"environment": given} if given else {})}, problem
    url = values.get("url", "").strip()
    problem = problem or (
        "" if url.startswith(("http://", "https://")) else "Give its address, which begins with https://"
    )
    return {"type": "remote", "url": url, **({"headers": given} if given else {})}, problem


async def _add_server(chat: Chat, values: Values) -> None:
    """Write the server, start it, and show the page of servers with its state."""
    client, (entry, _) = chat.control.client.mcp, mcp_entry(values)
    name, is_own = values["name"].strip(), values.get("where", "user") == "user"
    stored = await client.store(McpStore(name=name, config=entry, is_global=is_own))
    await client.add(McpAdd(name=name, config=entry))
    places = await chat.control.client.project.places()
    trust = "" if is_own else "; settings of a folder start programs only after /trust"
    await show_mcp_servers(chat, name, f"Added to {short_source(stored.file, places)}{trust}")


@action("mcp_view", loads="the MCP servers")
async def open_mcp_servers(chat: Chat) -> None:
    """Open the page of MCP servers."""
    await show_mcp_servers(chat)


async def show_mcp_servers(chat: Chat, name: str = "", said: str = "") -> None:
    """Show the page of MCP servers with one of them selected, and what was done."""
    from opencode_tui.tui.pages.mcp_servers import McpServersScreen

    servers, places = await chat.control.client.mcp.servers(), await chat.control.client.project.places()
    page = McpServersScreen(
        chat.control,
        servers,
        added=lambda: open_mcp_form(chat, places),
        edited=lambda name: chat.do(_edit_server(chat, places, name)),
    )
    if name:
        page.listing.selection.select(name)
    page.said = said
    chat.open_page(page)


async def _edit_server(chat: Chat, places: Places, name: str) -> None:
    """Open the file that sets a server in the user's editor, then show the page of servers as it is set now."""
    settings = (await chat.control.client.settings.all()).settings
    sources = [one.source for one in settings if one.path[:2] == ["mcp", name] and one.source.startswith("/")]
    found = await asyncio.to_thread(_find_entry, sources, name) if chat.control.is_alone else None
    if found is None:
        chat.show_note("note", "Not changed here", f"no file of settings on this machine sets the server {name}")
        return
    file, line = found
    if await open_file(chat.app, file, line):
        chat.app.refresh(layout=True)
    await _use_changed(chat, f"Read {short_source(str(file), places)} again")
    await show_mcp_servers(chat, name)


def _find_entry(sources: Sequence[str], name: str) -> tuple[Path, int] | None:
    """Return the first of these files that is there, and the line of a server in it (0 for unknown). Blocks."""
    path = next((Path(one) for one in sources if Path(one).is_file()), None)
    if path is None:
        return None
    lines = path.read_text("utf-8", "replace").splitlines()
    return path, next((number for number, line in enumerate(lines, 1) if json.dumps(name) in line), 0)
