"""Programs that a line of the table cannot describe, by name."""

from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.archives import ARCHIVERS
from opencode_tui.engine.permission.shell.builders import BUILDERS
from opencode_tui.engine.permission.shell.builtins import BUILTINS
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.copiers import COPIERS
from opencode_tui.engine.permission.shell.git import run_git
from opencode_tui.engine.permission.shell.interpreters import INTERPRETERS
from opencode_tui.engine.permission.shell.remotes import REMOTES
from opencode_tui.engine.permission.shell.searchers import SEARCHERS
from opencode_tui.engine.permission.shell.text_programs import TEXT_PROGRAMS


def find_analyser(name: str) -> Callable[[Call], None] | None:
    """Return what looks at the arguments of a program, None when a line of the table does."""
    return _ANALYSERS.get(name)


_ANALYSERS: Mapping[str, Callable[[Call], None]] = {
    "git": run_git,
    **BUILTINS,
    **INTERPRETERS,
    **SEARCHERS,
    **TEXT_PROGRAMS,
    **ARCHIVERS,
    **COPIERS,
    **REMOTES,
    **BUILDERS,
}
