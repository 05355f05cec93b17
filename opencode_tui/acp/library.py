"""The import of the protocol's library: most of the time from exec to the first answer, and most of that for what is not used.

Its 270 models are built at their first use instead of at the import, and the texts that document their fields, which are looked for
in the source of each, are left out. Where pydantic has no such function any more, the import only takes longer.
"""

import importlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

_FIELDS = "pydantic._internal._fields"
_DESCRIBE = "_update_fields_from_docstrings"


def load_library() -> None:
    """Import the library; call it before anything else imports it, on the only thread that creates models."""
    _load("acp.schema")


def load_v2() -> None:
    """Import its models of version 2 of the protocol, in the same way."""
    _load("acp.experimental.v2.schema")


def _load(name: str) -> None:
    from pydantic import BaseModel

    whole = BaseModel.model_config
    BaseModel.model_config = {**whole, "defer_build": True}
    try:
        with _without_descriptions():
            importlib.import_module(name)
    finally:
        BaseModel.model_config = whole


@contextmanager
def _without_descriptions() -> Generator[None]:
    fields: Any = importlib.import_module(_FIELDS)
    describe = cast("Callable[..., None] | None", getattr(fields, _DESCRIBE, None))
    if describe is None:
        yield
        return
    setattr(fields, _DESCRIBE, _describe_nothing)
    try:
        yield
    finally:
        setattr(fields, _DESCRIBE, describe)


def _describe_nothing(*_: object, **__: object) -> None:
    pass
