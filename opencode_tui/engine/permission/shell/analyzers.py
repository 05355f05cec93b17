"""The analyzers of programs that a line of the table can't describe, by program name."""

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


def find_analyzer(name: str) -> Callable[[Call], None] | None:
    """Return the analyzer of a program, None if a line of the table describes it."""
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
