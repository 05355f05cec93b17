"""Sessions of Claude Code: one file of JSON lines for each, in a folder for each project; subagents in files of their own.

Versions 1 kept the rows of subagents in the file of their session, versions 2.0 in files beside it.
Facts: files that Claude Code 2.1.197 wrote.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.extras.importing.claude_calls import agent_of
from opencode_tui.extras.importing.claude_messages import ClaudeMessages, newest_todos
from opencode_tui.extras.importing.claude_rows import Facts, Tree, read_tree
from opencode_tui.extras.importing.conversation import Child, SessionRecords, fork_title
from opencode_tui.extras.importing.ids import derive_session_id
from opencode_tui.extras.importing.json_lines import JsonLines, as_folder, as_objects, as_text, first_object
from opencode_tui.extras.importing.source import FoundSession, ImportedSession, Problem, short_title
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo, SessionTime, Todo

_AGENT_FILE = "agent-*.jsonl"
_LEAVES = 20
_TASKS = frozenset({"Task", "Agent"})


class _Agent(Struct, frozen=True):
    """A subagent's file: its id, the session and call that started it, its type and task."""

    path: Path
    agent_id: str
    parent: str
    call_id: str = ""
    kind: str = ""
    task: str = ""


class _Listed(Struct, frozen=True):
    """A conversation of a file without its title: the number of its branch, 0 for none, and the ids of its last rows."""

    found: FoundSession
    facts: Facts
    branch: int = 0
    leaves: Sequence[str] = ()


class ClaudeSource:
    """The sessions below a folder: `projects` of Claude Code, the folder above it, the folder of one project; or one file."""

    tool: Literal["claude"] = "claude"
    label = "Claude Code"

    def __init__(self, path: Path) -> None:
        self.path = path / "projects" if (path / "projects").is_dir() else path
        self.problems: list[Problem] = []
        self._known: dict[str, str] = {}

    def list(self) -> Iterator[FoundSession]:
        """Yield the sessions, folder by folder. Raises StorageError when the folder cannot be read."""
        self.problems.clear()
        if self.path.is_file():
            yield from self._list_folder(self.path.parent, self.path.name)
            return
        try:
            folders = [self.path, *sorted(entry for entry in self.path.iterdir() if entry.is_dir())]
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        for folder in folders:
            yield from self._list_folder(folder)

    def read(self, found: FoundSession) -> ImportedSession:
        """Return a session. Raises StorageError when its file is gone."""
        path, problems = Path(found.path), list[Problem]()
        file = JsonLines(path, problems)
        tree = read_tree(file)
        key = found.id.partition("#")[2]
        if key:
            problems.clear()  # they are listed with the first conversation of the file
        chosen = next((one for one in [*tree.conversations, *tree.sidechains] if one.key == key), None)
        if chosen is None:
            raise StorageError(f"{path} no longer has the conversation {found.id}")
        agent = self._agent_of(found, path)
        children = self._children(tree, file, found) if not key or not found.parent else {}
        todos = [Todo.model_validate(item) for item in newest_todos(tree, chosen, file)]
        info = SessionInfo(
            id=found.session_id,
            version=found.version or "0",
            project_id="",
            directory=found.directory,
            title=found.title,
            time=SessionTime(created=found.created, updated=found.updated),
            parent_id=self._parent_id(found),
        )
        records = SessionRecords(found.session_id, found.directory, found.path, problems)
        messages = ClaudeMessages(tree, file, records, children, agent)
        return ImportedSession(
            info, _closing(file, messages.read(chosen), None if key else tree), todos, problems=problems
        )

    def close(self) -> None:
        """Nothing stays open between calls."""

    # Listing.

    def _list_folder(self, folder: Path, name: str = "*.jsonl") -> Iterator[FoundSession]:
        """Yield the sessions of one project; a title may be in the file of another session."""
        files = sorted(path for path in folder.glob(name) if not path.name.startswith("agent-"))
        agents = _beside(folder)
        listed = [one for path in files for one in self._list_file(path)]
        titles: dict[str, str] = {}
        for each in listed:
            titles |= each.facts.summaries
        for each in listed:
            one = each.found
            summary = next((titles[leaf] for leaf in reversed(each.leaves) if titles.get(leaf)), "")
            yield replace(one, title=fork_title(one.title or _title(each.facts, summary), each.branch))
            if "#" not in one.id:
                self._known[one.id] = one.session_id
                own = [*_subagents(folder / one.id), *(agent for agent in agents if agent.parent == one.id)]
                yield from self._list_agents(own, one)
        if name == "*.jsonl":
            known = {each.found.id for each in listed}
            yield from self._list_agents([agent for agent in agents if agent.parent not in known], None)

    def _list_file(self, path: Path) -> Iterator[_Listed]:
        tree = self._tree(path)
        if tree is None or not any(row.kind in ("user", "assistant") for row in tree.rows):
            return
        facts = tree.facts
        directory = as_folder(facts.directory) or _decoded(path.parent.name)
        for number, one in enumerate(tree.conversations):
            first, last = tree.rows[one.rows[0]], tree.rows[one.rows[-1]]
            begun = next(row for row in tree.rows if row.uuid == one.key) if one.key else first
            source = f"{path.stem}#{one.key}" if one.key else path.stem
            created = begun.time if one.key else facts.created
            updated = max(created, max((tree.rows[at].time for at in one.rows), default=last.time))
            found = FoundSession(
                source, derive_session_id("claude", source, created), directory, "", created, updated, str(path),
                path.stat().st_size, facts.version,
            )  # fmt: skip
            yield _Listed(found, facts, number, [tree.rows[at].uuid for at in one.rows[-_LEAVES:]])
        for one in tree.sidechains:
            row = tree.rows[one.rows[0]]
            source = f"{path.stem}#{one.key}"
            with JsonLines(path, []) as file:
                prompt = _first_text(file.at(row.offset, row.size))
            found = FoundSession(
                source, derive_session_id("claude", source, row.time), directory,
                f"{short_title(prompt)} (@general subagent)", row.time, max(tree.rows[at].time for at in one.rows), str(path),
                0, facts.version, path.stem,
            )  # fmt: skip
            yield _Listed(found, facts)

    def _list_agents(self, agents: Sequence[_Agent], parent: FoundSession | None) -> Iterator[FoundSession]:
        for agent in agents:
            tree = self._tree(agent.path)
            if tree is None or not tree.conversations:
                continue
            facts, size = tree.facts, agent.path.stat().st_size
            source = f"{agent.parent}/{agent.path.stem}"
            title = f"{short_title(agent.task or facts.prompt) or 'Task'} (@{agent_of(agent.kind)} subagent)"
            directory = (
                parent.directory
                if parent is not None
                else as_folder(facts.directory) or _decoded(agent.path.parent.name)
            )
            yield FoundSession(
                source, derive_session_id("claude", source, facts.created), directory, title, facts.created,
                max(facts.created, facts.updated), str(agent.path), size, facts.version, parent.id if parent is not None else "",
            )  # fmt: skip

    def _tree(self, path: Path) -> Tree | None:
        try:
            with JsonLines(path, list[Problem]()) as file:
                return read_tree(file)
        except StorageError as error:
            self.problems.append(Problem(str(path), "", str(error)))
            return None

    # Reading.

    def _children(self, tree: Tree, file: JsonLines, found: FoundSession) -> dict[str, Child]:
        """Return the sessions of a session's subagents, by their ids and by the ids of the calls that started them."""
        path = Path(found.path)
        top = found.id.partition("#")[0]
        children: dict[str, Child] = {}
        for agent in [*_subagents(path.parent / top), *(one for one in _beside(path.parent) if one.parent == top)]:
            own = self._tree(agent.path)
            if own is None:
                continue
            tools = [name for row in own.rows for _, name in row.calls]
            session_id = derive_session_id("claude", f"{agent.parent}/{agent.path.stem}", own.facts.created)
            child = Child(session_id, tools)
            children |= {key: child for key in (agent.agent_id, agent.call_id) if key}
        if tree.sidechains:
            children |= self._sidechains(tree, file, top)
        return children

    @staticmethod
    def _sidechains(tree: Tree, file: JsonLines, top: str) -> dict[str, Child]:
        """Return the subagents whose rows are in the same file: each began with the prompt of its call."""
        calls: dict[str, list[str]] = {}
        for row in tree.rows:
            if any(name in _TASKS for _, name in row.calls) and not row.is_sidechain:
                blocks = as_objects(as_object(file.at(row.offset, row.size).get("message")).get("content"))
                for block in blocks:
                    prompt = as_text(as_object(block.get("input")).get("prompt"))
                    calls.setdefault(prompt.strip(), []).append(as_text(block.get("id")))
        children: dict[str, Child] = {}
        for one in tree.sidechains:
            first = tree.rows[one.rows[0]]
            waiting = calls.get(_first_text(file.at(first.offset, first.size)).strip())
            if waiting:
                tools = [name for at in one.rows for _, name in tree.rows[at].calls]
                session_id = derive_session_id("claude", f"{top}#{one.key}", first.time)
                children[waiting.pop(0)] = Child(session_id, tools)
        return children

    def _agent_of(self, found: FoundSession, path: Path) -> str:
        if not found.parent and not path.name.startswith("agent-"):
            return "build"
        return agent_of(as_text(first_object(path.with_suffix(".meta.json")).get("agentType")))

    def _parent_id(self, found: FoundSession) -> str | None:
        """Return the id here of the session that started a subagent."""
        if not found.parent:
            return None
        if found.parent in self._known:
            return self._known[found.parent]
        path = Path(found.path)
        if path.name.startswith("agent-"):
            folder = path.parent.parent.parent if path.parent.name == "subagents" else path.parent
            path = folder / f"{found.parent}.jsonl"
        tree = self._tree(path)
        return derive_session_id("claude", found.parent, tree.facts.created) if tree is not None else None


def _subagents(folder: Path) -> list[_Agent]:
    """Return the subagents in the folder of a session."""
    agents: list[_Agent] = []
    for path in sorted((folder / "subagents").glob(_AGENT_FILE)):
        about = first_object(path.with_suffix(".meta.json"))
        call_id, kind, task = (as_text(about.get(key)) for key in ("toolUseId", "agentType", "description"))
        agents.append(_Agent(path, path.stem.removeprefix("agent-"), folder.name, call_id, kind, task))
    return agents


def _beside(folder: Path) -> list[_Agent]:
    """Return the subagents whose files lie beside those of the sessions."""
    agents: list[_Agent] = []
    for path in sorted(folder.glob(_AGENT_FILE)):
        head = first_object(path)
        agents.append(_Agent(path, path.stem.removeprefix("agent-"), as_text(head.get("sessionId"))))
    return agents


def _closing(file: JsonLines, messages: Iterator[MessageWithParts], tree: Tree | None) -> Iterator[MessageWithParts]:
    """Yield the messages, then list what `tree` has in no conversation, and close the file."""
    with file:
        yield from messages
        if tree is not None:
            for at in tree.left_out:
                file.report(tree.rows[at].line, "is left out: a prompt that was written again before it had an answer")


def _title(facts: Facts, summary: str) -> str:
    found = facts.custom_title or summary or facts.title or facts.prompt
    return short_title(re.sub(r"<[^>]{1,60}>", " ", found)) or "Claude Code session"


def _decoded(name: str) -> str:
    """Return the folder that a project's folder is named for. The name has `-` for several characters, so it can be wrong."""
    return name.replace("-", "/") if name.startswith("-") else "/"


def _first_text(value: JsonObject) -> str:
    content = as_object(value.get("message")).get("content")
    if isinstance(content, str):
        return content
    return "\n".join(as_text(block.get("text")) for block in as_objects(content) if block.get("type") == "text")
