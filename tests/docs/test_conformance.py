"""The conformance table of Agent Plugins names tests that exist, and a test for each section with requirements."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
USUAL = "tests/config/installed/test_agent_plugin.py"
SECTIONS = {
    "4.1",
    "5.1",
    "5.2",
    "5.3",
    "5.4",
    "5.5",
    "6.1",
    "6.2",
    "7.1",
    "7.2.1",
    "7.2.2",
    "8.1",
    "9.1",
    "9.2",
    "10.1",
    "11.1",
    "11.3",
}
"""The sections of the specification in which a client MUST do something."""


def test_every_row_names_tests_that_exist_and_every_section_has_a_row() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text("utf-8").partition("## Agent Plugins 1.0.0: conformance")[2]
    rows = [line.split("|")[1:-1] for line in page.splitlines() if re.match(r"\| [0-9]", line)]
    assert len(rows) > 30
    missing: list[str] = []
    found: set[str] = set()
    for section, _, tests in rows:
        found |= {one for one in SECTIONS if re.search(rf"(?<![0-9.]){re.escape(one)}(?![0-9])", section)}
        for named in re.findall(r"`([^`]+)`", tests):
            file, _, function = named.partition("::") if "/" in named else (USUAL, "", named)
            path = ROOT / file
            if not path.is_file() or (function and f"def {function}(" not in path.read_text("utf-8")):
                missing.append(named)
    assert (missing, SECTIONS - found) == ([], set())
