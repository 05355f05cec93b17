"""The files that AGENTS.md and the docstrings of packages name exist."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.rows import each
from tests.support.source.pages import ROOT, code

PACKAGE = ROOT / "opencode_tui"

NAME = re.compile(r"`([\w/-]+(?:/|\.py|\.md|\.json))`")


def packages() -> list[str]:
    return sorted(path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py"))


@pytest.mark.slow
@each("name", [name for name in packages() if "/data" not in name])
def test_a_package_names_files_that_exist(name: str) -> None:
    tree = ast.parse((PACKAGE / name / "__init__.py").read_text("utf-8"))
    named = NAME.findall(ast.get_docstring(tree) or "")
    tests = [file for file in named if file.startswith("test_") or file.startswith("tests/")]
    assert [file for file in tests if not list((ROOT / "tests").rglob(file.removeprefix("tests/").rstrip("/")))] == []
    own = [file for file in named if file not in tests]
    assert [file for file in own if not exists(file, PACKAGE / name, PACKAGE)] == []


@pytest.mark.slow
def test_the_questions_of_agents_md_name_files_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text("utf-8")
    rows = [
        line for line in text.partition("## Question")[2].partition("\n## ")[0].splitlines() if line.startswith("| ")
    ]
    missing = [f"{row}: {file}" for row in rows for file in NAME.findall(row.rpartition(" | ")[2]) if not found(file)]
    assert len(rows) > 40
    assert missing == []


def test_the_pages_of_agents_md_and_readme_exist() -> None:
    for name in ("AGENTS.md", "README.md"):
        pages = [text for _, text in code(name) if text.startswith("docs/") and text.endswith(".md")]
        assert [page for page in pages if not (ROOT / page).is_file()] == []


def exists(file: str, *folders: Path) -> bool:
    return any((folder / file).exists() for folder in folders)


def found(file: str) -> bool:
    """Return whether a file of a row exists, at its path or, as beside one that the row names before it, by its end."""
    expanded = re.sub(r"^session/", "engine/session/", file)
    return "NAME" in file or exists(expanded, PACKAGE, ROOT) or bool(list(PACKAGE.rglob(file.rstrip("/"))))
