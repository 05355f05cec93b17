"""Which renderer draws which tool."""

from opencode_tui.tui.conversation.tools.ask import AskRenderer
from opencode_tui.tui.conversation.tools.bash import BashRenderer
from opencode_tui.tui.conversation.tools.edit import EditRenderer, PatchRenderer, WriteRenderer
from opencode_tui.tui.conversation.tools.search import GrepRenderer
from opencode_tui.tui.conversation.tools.task import TaskRenderer
from opencode_tui.tui.conversation.tools.todo import TodoRenderer
from opencode_tui.tui.conversation.tools.tool import ToolRenderer

_GENERIC = ToolRenderer()
_RENDERERS: dict[str, ToolRenderer] = {
    "bash": BashRenderer(),
    "edit": EditRenderer(),
    "multiedit": EditRenderer(),
    "write": WriteRenderer(),
    "apply_patch": PatchRenderer(),
    "grep": GrepRenderer(),
    "todowrite": TodoRenderer(),
    "todoread": TodoRenderer(),
    "task": TaskRenderer(),
    "question": AskRenderer(),
}


def renderer_of(tool: str) -> ToolRenderer:
    """Return a tool's renderer; most tools and plugins' tools share the generic one."""
    return _RENDERERS.get(tool, _GENERIC)
