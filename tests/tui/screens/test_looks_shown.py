"""Pictures of what one looks at before a yes: changes, what a folder would start, what goes along with a prompt."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from opencode_tui.schema.api.folder import InactiveSetting, Notices
from opencode_tui.schema.api.trust import TrustItem, TrustReport
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.tui.prompt.draft import Attachment
from tests.support.terminal.conversation import ROOT
from tests.support.terminal.scripted_client import Script
from tests.tui.screens.test_looks import DARK, LIGHT, Act, Situation, asked, chat_of, idle, opened_app, paste, press

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

BEFORE = """\
import csv
from collections.abc import Iterable, Sequence
from typing import TextIO

from csvkit.dialect import Dialect

Row = Sequence[object]
MAX = 1_000



class Writer:
    \"\"\"Writes rows in one dialect.\"\"\"

    def __init__(self, out: TextIO, dialect: Dialect) -> None:
        self.out = out
        self.dialect = dialect
        self.count = 0

    def open(self) -> None:
        self.out.write(self.dialect.head)

    def flush(self) -> None:
        self.out.flush()

    def reset(self) -> None:
        self.count = 0

    def name(self) -> str:
        return "writer"

    def is_open(self) -> bool:
        return not self.out.closed

    def close(self) -> None:
        self.flush()
        if self.dialect.tail:
            self.out.write(self.dialect.tail)
        self.out.close()

    def row(self, values: Sequence[object]) -> None:
        for i in range(len(values) - 1):
            self.out.write(quote(values[i]))
        self.count += 1

    def rows(self, rows: Iterable[Row]) -> int:
        for r in rows: self.row(r)
        return self.count

    def table(self, rows: Iterable[Row], head: Row) -> int:
        self.row(head)
        return self.rows(rows)


def needs_quotes(text: str) -> bool:
    return any(letter in text for letter in "\\",")


def quote(value: object) -> str:
    text = str(value)
    return text
"""
AFTER = (
    BEFORE.replace(
        "        self.out = out\n",
        '        if not out.writable():\n            raise ValueError(f"read-only: {out.name} was opened for reading, '
        'so nothing can be written to it; open it with mode w")\n',
    )
    .replace("range(len(values) - 1)", "range(len(values))")
    .replace("write(quote(values[i]))", "write(self.quote(values[i]))\n            self.out.write(self.dialect.comma)")
    .replace("        for r in rows: self.row(r)\n", "        for row in rows:\n            self.row(row)\n")
    .replace("    return text\n", "    return text if needs_quotes(text) else text.replace('\"', '\"\"')\n")
)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + b"\0" * 90_000


def changes() -> Script:
    """A file with changes far from each other, one of them a long line."""
    script = idle()
    script.diffs = [
        FileDiff(file="src/csvkit/writer.py", before=BEFORE, after=AFTER, additions=9, deletions=5, status="modified"),
        FileDiff(
            file="tests/test_last_row.py", after="def test_it() -> None: ...\n" * 17, additions=17, status="added"
        ),
        FileDiff(
            file="CHANGELOG.md", before="# Changes\n", after="# Changes\n\n- Fixed\n", additions=2, status="modified"
        ),
    ]
    return script


def stranger() -> Script:
    """A folder that would start and loosen things, one of its files changed since it was trusted."""
    effects = {
        "opencode.json": [
            "opencode.json: plugin: starts programs: ./tools/watch.py",
            "opencode.json: permission.bash: relaxes permissions: allow",
            "opencode.json: mcp.search: starts programs: npx -y search-server@latest --port 4000 --cache .cache/search --verbose",
        ],
        ".opencode/commands/ship.md": [".opencode/commands/ship.md: command.ship: starts programs: !`git push`"],
        ".opencode/plugins/notify.py": [".opencode/plugins/notify.py: starts programs"],
    }
    items = [
        TrustItem(name=name, effects=lines, verdict="changed" if "commands" in name else "unknown")
        for name, lines in effects.items()
    ]
    ignored = [
        InactiveSetting(setting=f"{ROOT}/{line}", reason="ignored until you trust this folder")
        for lines in effects.values()
        for line in lines
    ]
    script = idle()
    script.trust = TrustReport(worktree=ROOT, seen="as read", items=items)
    script.notices = Notices(ignored=ignored)
    return script


def pasted(*keys: str) -> Act:
    """Paste a log, write something after it, and open it."""
    log = "\n".join(
        f"12:0{n % 10}:07 GET /rows/{n * 37} 200 {n * 3} ms  日本語 🇩🇪 and a rather long end of line" for n in range(40)
    )

    async def act(pilot: Pilot[Any]) -> None:
        await paste(log)(pilot)
        await press(*keys)(pilot)

    return act


async def attach_image(pilot: Pilot[Any]) -> None:
    """Attach an image and open it."""
    chat_of(pilot).prompt.attach(Attachment(data=PNG, mime="image/png", name="shot of the broken table.png"))
    await press("ctrl+x", "v")(pilot)


SITUATIONS: dict[str, Situation] = {
    "changes-with-names": Situation(changes, (162, 42), DARK, press("ctrl+x", "d")),
    "changes-wrapped-side-by-side": Situation(changes, (162, 42), LIGHT, press("ctrl+x", "d", "w")),
    "changes-wrapped-in-60-columns": Situation(changes, (60, 30), DARK, press("ctrl+x", "d", "w")),
    "changes-at-the-end-in-100-columns": Situation(changes, (100, 24), LIGHT, press("ctrl+x", "d", "end")),
    "trust-in-100-columns": Situation(stranger, (100, 36), DARK, asked("ctrl+x", "w")),
    "trust-in-60-columns-light": Situation(stranger, (60, 32), LIGHT, asked("ctrl+x", "w")),
    "pasted-text-opened-in-100-columns": Situation(idle, (100, 30), DARK, pasted("ctrl+x", "v")),
    "pasted-text-opened-in-60-columns-light": Situation(idle, (60, 24), LIGHT, pasted("ctrl+x", "v")),
    "image-opened-in-100-columns-light": Situation(idle, (100, 30), LIGHT, attach_image),
    "image-opened-in-60-columns": Situation(idle, (60, 24), DARK, attach_image),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS[name])
    assert snap_compare(app, terminal_size=SITUATIONS[name].size, run_before=act)
