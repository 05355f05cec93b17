"""The files that AGENTS.md, CONTRIBUTING.md, the pages about the internals and the docstrings of packages name exist."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.rows import each
from tests.support.source.pages import ROOT, code

PACKAGE = ROOT / "opencode_tui"

NAME = re.compile(r"`([\w/-]+(?:/|\.(?:py|md|json|txt|yml|lock)))`")


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


@each("name", ["AGENTS.md", "CONTRIBUTING.md", "docs/internals/architecture.md", "docs/internals/tricks.md"])
def test_a_page_for_developers_names_files_by_their_whole_path(name: str) -> None:
    named = [file for file in NAME.findall((ROOT / name).read_text("utf-8")) if "/" in file and "NAME" not in file]
    assert len(named) > 5
    assert [file for file in named if not exists(file, PACKAGE, ROOT)] == []


def test_the_pages_of_agents_md_and_readme_exist() -> None:
    for name in ("AGENTS.md", "README.md"):
        pages = [text for _, text in code(name) if text.startswith("docs/") and text.endswith(".md")]
        assert [page for page in pages if not (ROOT / page).is_file()] == []


def exists(file: str, *folders: Path) -> bool:
    return any((folder / file).exists() for folder in folders)
