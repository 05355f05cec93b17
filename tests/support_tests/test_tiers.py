"""The two tiers: the cases that markers name exist, and README's commands run the fast tier and then the slow one."""

import pytest

from tests.support.source.pages import ROOT, blocks

ID_LENGTH = 120


def test_the_cases_that_markers_name_exist(request: pytest.FixtureRequest) -> None:
    """Of the tests that this run has whole: the fast tier has no slow cases, so it checks those that stay fast."""
    found: dict[tuple[str, str], set[str]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    for item in request.session.items:
        test, _, case = item.nodeid.partition("[")
        for name in ("fast_cases", "slow_cases"):
            mark = item.get_closest_marker(name)
            if mark is not None:
                found.setdefault((test, name), set()).add(case.removesuffix("]"))
                named.setdefault((test, name), set()).update(mark.args)
    is_fast_tier = request.config.option.markexpr == "not slow"
    ignored = ("slow_cases",) if is_fast_tier else ("fast_cases",) if request.config.option.markexpr else ()
    missing = {test: names - found[test] for test, names in named.items() if test[1] not in ignored}
    assert {test: names for test, names in missing.items() if names} == {}


def test_ids_of_tests_are_short_and_ascii(request: pytest.FixtureRequest) -> None:
    ids = [item.nodeid.partition("[")[2] for item in request.session.items]
    assert [found for found in ids if not (found.isascii() and found.isprintable() and len(found) <= ID_LENGTH)] == []


def test_readme_runs_the_fast_tier_and_then_the_slow_one() -> None:
    section = (ROOT / "README.md").read_text().partition("\n## Development\n")[2]
    [block] = [block for block in blocks("README.md") if block.language == "sh" and block.text in section]
    [install, fast, slow] = block.text.splitlines()
    assert install == 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"'
    assert fast == '.venv/bin/python -m pytest -m "not slow"'
    assert slow == ".venv/bin/python -m pytest -m slow"
