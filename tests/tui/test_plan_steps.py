"""The steps of a plan."""

import pytest

from opencode_tui.schema.plan import PlanStep, steps_of


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        (
            "# P\n\n1. Do `a.py`\n   - detail\n2) **Then** `src/b/c`",
            [("Do a.py", ["a.py"]), ("Then src/b/c", ["src/b/c"])],
        ),
        ("Words.\n\n- [ ] one\n- [x] two `f()`", [("one", []), ("two f()", [])]),
        ("# P\n## First\ntext\n## Second", [("First", []), ("Second", [])]),
        ("# P\nOnly words.", [("Only words.", [])]),
        ("", []),
    ],
)
def test_the_steps_are_the_items_of_the_plan(plan: str, steps: list[tuple[str, list[str]]]) -> None:
    assert steps_of(plan) == [PlanStep(text, tuple(files)) for text, files in steps]
