"""Formatters of this machine inside edits: 20 edits each in a repository that is not formatted, and their undo.

Run: LSP_PROGRAMS=FOLDER[:FOLDER…] python -m tests.benchmarks.bench_format (folders with ruff, clang-format, prettier; absent ones
are left out). Goals: no line changes that is more than 3 lines from its edit, no edit is refused, the undo restores every byte.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from opencode_tui.config.settings.settings import FormatterSettings
from opencode_tui.engine.format.formatters import Formatters, changed_lines, is_near
from opencode_tui.engine.format.known_formatters import FormatterTable
from opencode_tui.engine.project.programs import ProjectPrograms, start_program
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.edit.file_editor import FileEditor
from opencode_tui.schema.error import ToolError
from tests.benchmarks.comparison import Figure, report
from tests.support.world.tools import Workbench

EDITS = 20
_BODIES = {
    "ruff": (
        "a.py",
        "def f{n}( a,b ):\n    x = {{ 'a':1 }}\n    return   a+b\n\n\n\n\n\n",
        "    return   a+b",
        "    return   a*b+{n} ",
    ),
    "clang-format": (
        "a.cpp",
        "int f{n}( int a,int b ){{\n  int x=1;\n      return a+b;\n}}\n\n\n\n\n",
        "      return a+b;",
        "      return a*b+{n} ;",
    ),
    "prettier": (
        "a.js",
        "function f{n}( a,b ){{\n  let x='1'\n      return a+b\n}}\n\n\n\n\n",
        "      return a+b",
        "      return a*b+{n} ;",
    ),
}


async def measure(name: str, folder: Path, environ: dict[str, str]) -> list[Figure]:
    """Return the figures of one formatter; none where it is absent."""
    file, body, old, new = _BODIES[name]
    project = folder / name
    project.mkdir()
    settings = {name: FormatterSettings()}
    table = FormatterTable(
        settings,
        ProjectPrograms(
            environ=environ, directory=project, worktree=project, is_trusted=True, is_sandboxed=lambda: False
        ),
    )
    if table.find(project / file) is None:
        print(f"{name} is not installed")
        return []
    bench = Workbench(project)
    formatters = Formatters(
        make_table=lambda: table,
        make_environ=lambda _: environ,
        start_confined=start_program,
        scratch=folder / "scratch",
        report=print,
    )
    tool = EditTool(
        editor=FileEditor(
            files=bench.files, stamps=bench.stamps, permission=bench.permission, format_edit=formatters.format
        )
    )
    path = project / file
    path.write_text("".join(body.format(n=n) for n in range(EDITS)))
    await bench.read(file)
    outside = refused = formatted = 0
    for n in range(EDITS):
        before = path.read_text()
        head = body.format(n=n).partition(old)[0]
        wanted = before.replace(head + old, head + new.format(n=n))
        edited = [lines for _, lines in changed_lines(before, wanted)]
        try:
            done = await bench.call(tool, filePath=file, oldString=head + old, newString=head + new.format(n=n))
        except ToolError as error:
            print(f"{name}: refused: {error}")
            refused += 1
            continue
        after = path.read_text()
        outside += not is_near(wanted, after, edited)
        formatted += "formatted it" in done.output
    print(f"{name}: {formatted} of {EDITS} edits were formatted")
    return [
        Figure(f"{name}: edits that changed other lines", outside, 0, unit=""),
        Figure(f"{name}: refused edits", refused, 0, unit=""),
    ]


async def main() -> int:
    """Measure all formatters."""
    environ = {**os.environ, "PATH": f"{os.environ.get('LSP_PROGRAMS', '')}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        figures = [figure for name in _BODIES for figure in await measure(name, Path(folder), environ)]
    return report(figures)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
