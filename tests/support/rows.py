"""A table of cases as one test: every row runs, and the failures of all of them are reported together.

`@each` is used like `pytest.mark.parametrize`, where a row needs no fixtures of its own and costs less than an item. A test that
has a parameter `row_path` gets an empty folder for each row.
"""

import functools
import inspect
import itertools
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LENGTH = 30
_rows = itertools.count()


def short_id(value: str) -> str:
    """Return a text as the ID of a case: a name as it is, any other text as at most 30 characters of printable ASCII."""
    if _NAME.fullmatch(value):
        return value
    plain = value[: _LENGTH + 1].encode("ascii", "replace").decode()
    plain = "".join(letter if letter.isprintable() and letter not in "[]" else "_" for letter in plain)
    return plain if len(plain) <= _LENGTH else f"{plain[: _LENGTH - 2]}.."


def each(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[object] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: the test runs once for each row, and fails with all rows that failed, each with its ID and its error.

    `names`, `rows` and `ids` are those of `parametrize`; a row may be a `pytest.param` with an ID. Fixtures are shared by all
    rows. Raises ValueError if there are no rows: such a test would claim nothing.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_values(row, len(arguments)) for row in rows]
    if not table:
        raise ValueError(f"no rows of {names}")
    named = None if ids is None or callable(ids) else list(ids)
    of = ids if callable(ids) else str
    labels = [
        label or (str(named[number]) if named else f"{number}: {'-'.join(short_id(str(of(one))) for one in values)}")
        for number, (label, values) in enumerate(table)
    ]
    cases = [
        (label, dict(zip(arguments, values, strict=True))) for label, (_, values) in zip(labels, table, strict=True)
    ]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(test).parameters
        has_path = "row_path" in parameters

        def given(fixtures: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
            if not has_path:
                return {**fixtures, **case}
            factory: pytest.TempPathFactory = fixtures["tmp_path_factory"]
            path = factory.mktemp(f"row{next(_rows)}", numbered=False)
            kept = {name: value for name, value in fixtures.items() if name in parameters}
            return {**kept, **case, "row_path": path}

        def run(**fixtures: Any) -> None:
            failures: list[str] = []
            for label, case in cases:
                try:
                    test(**given(fixtures, case))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the other rows run too, and all are reported
                    failures.append(f"[{label}] {_describe(error)}")
            _report(failures, len(cases))

        async def run_async(**fixtures: Any) -> None:
            failures: list[str] = []
            for label, case in cases:
                try:
                    await test(**given(fixtures, case))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - as above
                    failures.append(f"[{label}] {_describe(error)}")
            _report(failures, len(cases))

        left = [one for name, one in parameters.items() if name not in (*arguments, "row_path")]
        if has_path and "tmp_path_factory" not in parameters:
            left.append(inspect.Parameter("tmp_path_factory", inspect.Parameter.KEYWORD_ONLY))
        wrapper: Any = functools.wraps(test)(run_async if inspect.iscoroutinefunction(test) else run)
        wrapper.__signature__ = inspect.Signature(left)  # pytest reads there which fixtures the test needs
        return wrapper

    return decorate


def _report(failures: list[str], count: int) -> None:
    if failures:
        pytest.fail(f"{len(failures)} of {count} rows failed\n" + "\n".join(failures), pytrace=False)


def _values(row: Any, count: int) -> tuple[str | None, Sequence[Any]]:
    label = None
    if isinstance(row, type(pytest.param())):
        if row.marks:
            raise ValueError("a row has no marks")
        label, row = str(row.id) if row.id else None, row.values if count > 1 else row.values[0]
    if count == 1:
        return label, (row,)
    if len(row) != count:
        raise ValueError(f"{row!r} has not {count} values")
    return label, row


def _describe(error: BaseException) -> str:
    """Return an error with the line of the test where it came from, without the frames of this module."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    line = f"line {frames[0].lineno}: {frames[0].line}\n" if frames else ""
    text = "".join(traceback.format_exception_only(error)).strip()
    return f"{line}{text}".replace("\n", "\n    ")
