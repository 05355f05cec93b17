"""Names what is in this tree as a release: `python packaging/version.py 1.2.3 2026-01-31`.

Writes the version into `opencode_tui/__init__.py`, from which the program has it, into the files for CI of users, which install it,
and with its date into the heading of CHANGELOG.md that says "unreleased". Commit them, then `packaging/release` checks and builds.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
_OF_USERS = ("packaging/share/opencode-tui/ci/github-review.yml", "packaging/share/opencode-tui/ci/gitlab-review.yml")


def main(version: str, date: str) -> str:
    """Write all files; return what is wrong, empty for nothing. Nothing is written then."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        return "give a version as 1.2.3 and a date as 2026-01-31"
    package, changes = TOP / "opencode_tui" / "__init__.py", TOP / "CHANGELOG.md"
    texts: dict[Path, str] = {}
    for path, pattern, line in (
        (package, r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"'),
        (changes, r"(?m)^## \[[^]]*\] - unreleased$", f"## [{version}] - {date}"),
        *((TOP / name, r"(?m)(?<= OPENCODE_TUI: opencode-tui==)\S+", version) for name in _OF_USERS),
    ):
        texts[path], count = re.subn(pattern, line, path.read_text("utf-8"))
        if count != 1:
            return f"{path.name} has {count} lines to write it in, and must have one"
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return ""


if __name__ == "__main__":
    sys.exit((main(*sys.argv[1:]) or 0) if len(sys.argv) == 3 else "usage: python packaging/version.py VERSION DATE")
