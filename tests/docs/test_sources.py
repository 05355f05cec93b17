"""What comments and docstrings cite can be read: a page of `docs/`, or a standard or document with its name, number or address."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source.pages import ROOT, anchors

CITED = re.compile(r"\bdocs/[\w./-]+\.md(?:#[\w-]+)?")
"""A page, and a heading of it."""

SENTENCE = re.compile(r"(?<!> )\bSources?(?: of [a-z ]*?)?:\s.*?(?:\.(?=\s|\"|\)|\Z)|\Z)", re.DOTALL)

KNOWN = re.compile(
    r"https?://|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|io|net|ai|ms)/"  # an address
    r"|\bRFC \d+|\bECMA-\d+|\bPOSIX\b|\bWCAG \d|\bOpenID Connect Core \d|\bISO \d+"  # a standard
    r"|\b[a-z][\w-]*\(\d\)"  # a manual page
    r"|\bPyPI \w|\b\w[\w-]* \d+\.\d+(?:\.\d+)?\b|`[\w/.-]+`"  # a package with its version, or a file or variable of one
    r"|\bgit's? (?:\w+ )?(?:pack|index|object|tree)|\bgit, \w|\bLinux, |\bbash manual|\btests/[\w/.-]+"
    r"|\bOpenCode's (?:API|OpenAPI)|\bREST API\b|\blitellm's table|\bdocumentation of |\bguide \"|\bpackages? named"
)
"""What says which document is meant."""

OUTSIDE = re.compile(
    r"\breference, section|\bthe reference, |\breference tests\b|\bSPEC\b|\bseeds?;? \d{3}|\bdesign, (?:visual|cap|rel|perf)"
    r"|\bhttp\.md`? \d|\bperformance\.md, section"
)
"""Documents that are not in the repository."""


def files() -> list[Path]:
    found = [path for top in ("opencode_tui", "tests") for path in (ROOT / top).rglob("*.py")]
    return [path for path in found if "data" not in path.parts and path != Path(__file__)]


def sentences(text: str) -> Iterator[str]:
    for found in SENTENCE.finditer(text):
        yield re.sub(r"\s*\n[ #]*", " ", found.group(0))[:300]


@pytest.mark.slow
def test_every_page_that_is_cited_exists_with_its_heading() -> None:
    cited = [(path, target) for path in files() for target in CITED.findall(path.read_text("utf-8"))]
    cited = [(path, target) for path, target in cited if is_ours(path) or target.startswith("docs/internals/")]
    assert len(cited) > 140
    assert [f"{path.relative_to(ROOT)}: {target}" for path, target in cited if not resolves(target)] == []


@pytest.mark.slow
def test_every_source_is_a_page_or_a_document_that_can_be_found() -> None:
    found = [(path, sentence) for path in files() for sentence in sentences(path.read_text("utf-8"))]
    assert len(found) > 150
    unclear = [
        (path, sentence) for path, sentence in found if not CITED.search(sentence) and not KNOWN.search(sentence)
    ]
    assert [f"{path.relative_to(ROOT)}: {sentence}" for path, sentence in unclear] == []


@pytest.mark.slow
def test_no_text_cites_a_document_outside_the_repository() -> None:
    lines = ((path, line) for path in files() for line in path.read_text("utf-8").splitlines() if OUTSIDE.search(line))
    assert [f"{path.relative_to(ROOT)}: {line.strip()}" for path, line in lines] == []


@pytest.mark.parametrize(
    ("text", "is_clear"),
    [
        ("Source: docs/undo.md#what-is-kept.", True),
        ("Source: RFC 7617.", True),
        ("Source: proc_pid_stat(5).", True),
        ("Source: our notes.", False),
    ],
)
def test_a_source_that_nobody_can_read_is_found(text: str, is_clear: bool) -> None:
    assert bool(CITED.search(text) or KNOWN.search(text)) == is_clear


def test_a_page_or_a_heading_that_is_gone_is_found() -> None:
    assert resolves("docs/undo.md") and not resolves("docs/gone.md") and not resolves("docs/undo.md#gone")


def is_ours(path: Path) -> bool:
    """Return whether a file is of the program: those of tests name pages of projects that they make."""
    return path.is_relative_to(ROOT / "opencode_tui")


def resolves(target: str) -> bool:
    page, _, anchor = target.partition("#")
    return (ROOT / page).is_file() and (not anchor or anchor in anchors(page))
