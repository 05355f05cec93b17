"""All built-in tools of one folder's instance, made with what they share: files, read stamps, the search, the output folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.engine.skill.skills import Skills
from opencode_tui.engine.tool.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.bash import BashTool, ExtendEnvironment, ShellSurroundings
from opencode_tui.engine.tool.edit import EditTool
from opencode_tui.engine.tool.file_editor import FileEditor
from opencode_tui.engine.tool.files import WorktreeFiles
from opencode_tui.engine.tool.glob import GlobTool
from opencode_tui.engine.tool.grep import GrepTool
from opencode_tui.engine.tool.list import ListTool
from opencode_tui.engine.tool.multiedit import MultieditTool
from opencode_tui.engine.tool.question import QuestionTool
from opencode_tui.engine.tool.read import NearbyInstructions, ReadTool
from opencode_tui.engine.tool.recall import RecallTool, StoredOutputs
from opencode_tui.engine.tool.search import FileSearch
from opencode_tui.engine.tool.search_scope import Readable
from opencode_tui.engine.tool.skill import SkillTool
from opencode_tui.engine.tool.stamps import ReadStamps
from opencode_tui.engine.tool.task import TaskTool
from opencode_tui.engine.tool.todo import TodoreadTool, TodoStore, TodowriteTool
from opencode_tui.engine.tool.tool import Tool
from opencode_tui.engine.tool.truncate import Truncator
from opencode_tui.engine.tool.webfetch import WebfetchTool
from opencode_tui.engine.tool.write import WriteTool


@dataclass(frozen=True, slots=True)
class ToolSurroundings:
    """What tools get from the outside.

    `edited` is told of every file that one of them wrote; `may_delegate` tells of an agent's name whether it may start others;
    `readable` tells whether a call may read a file without asking, so that a search does not show what read would ask for;
    `instructions` finds the rules files near a file that is read; `outputs` are what earlier calls gave; `extend_environment` is
    what plugins add to the environment of commands.
    """

    environ: Mapping[str, str]
    home: Path
    truncator: Truncator
    todos: TodoStore
    edited: Callable[[Path], None]
    may_delegate: Callable[[str], bool]
    readable: Readable
    instructions: NearbyInstructions
    skills: Skills
    outputs: StoredOutputs
    extend_environment: ExtendEnvironment | None = None


def built_in_tools(surroundings: ToolSurroundings) -> list[Tool[Any]]:
    """Return the tools in the order in which the model sees them."""
    stamps = ReadStamps()
    files = WorktreeFiles(edited=surroundings.edited)
    editor = FileEditor(files=files, stamps=stamps)
    search = FileSearch.installed()
    shell = ShellSurroundings(
        environ=surroundings.environ,
        home=surroundings.home,
        reserve_output=surroundings.truncator.reserve,
        extend=surroundings.extend_environment,
    )
    skills = [SkillTool(skills=surroundings.skills)] if surroundings.skills.all() else []
    return [
        BashTool(surroundings=shell, may_delegate=surroundings.may_delegate),
        ReadTool(stamps=stamps, instructions=surroundings.instructions),
        GlobTool(search=search, readable=surroundings.readable),
        GrepTool(search=search, readable=surroundings.readable),
        ListTool(search=search),
        EditTool(editor=editor),
        MultieditTool(editor=editor),
        WriteTool(editor=editor),
        ApplyPatchTool(files=files, stamps=stamps),
        WebfetchTool(),
        TaskTool(),
        TodowriteTool(store=surroundings.todos),
        TodoreadTool(store=surroundings.todos),
        QuestionTool(),
        RecallTool(outputs=surroundings.outputs),
        *skills,
    ]
