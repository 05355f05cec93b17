"""The table of calls: each method of a facet is one row, and its decorator says how the call travels over HTTP.

The signature and the docstring of the method say what the call does, for every client. From the row the facet over HTTP
(`client/remote_facet.py`) and a route of our own (`server/routes/own.py`) are made. An argument that the path names is in the
path; a record or an object is the body; the others are the fields of the class `body`, or else in the query.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Literal, TypedDict, TypeVar, Unpack, get_args
from urllib.parse import quote

from msgspec import Struct

from opencode_tui.schema.http_headers import OWN
from opencode_tui.schema.record import JsonObject, Record, json_name

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"\{([a-z_.]+)\}")


class Call(Struct, frozen=True, dict=True):
    """One row: the method and the path of its route, with names of arguments in braces, and what differs from the rule.

    `field` is the field of the answer that is the result; without one the answer is the result. `reads` says of another method
    than GET that it changes nothing. A call that `waits` has no limit of time. With `is_false_if_gone` the result is False where
    the server does not know the ID, or not any more.
    """

    function: Callable[..., Any]
    method: Method
    path: str
    body: type[Record] | None = None
    field: str | None = None
    reads: bool = False
    waits: bool = False
    is_false_if_gone: bool = False

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature without `self`."""
        signature = inspect.signature(self.function)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    @cached_property
    def path_names(self) -> list[str]:
        """The names of the arguments in the path."""
        return _NAME.findall(self.path)

    @cached_property
    def object_name(self) -> str | None:
        """The name of the argument that is the body, None without one."""
        return next((name for name, one in self.signature.parameters.items() if is_object(one.annotation)), None)

    @cached_property
    def query(self) -> list[inspect.Parameter]:
        """The parameters in the query."""
        elsewhere = {*self.path_names, self.object_name, *(self.body.model_fields if self.body else ())}
        return [one for name, one in self.signature.parameters.items() if name not in elsewhere]

    def path_of(self, arguments: Mapping[str, Any]) -> str:
        """Return the path of a request."""
        given = SimpleNamespace(**arguments)
        return _NAME.sub(lambda found: quote(str(attrgetter(found[1])(given)), safe=""), self.path)

    def body_of(self, arguments: Mapping[str, Any]) -> object:
        """Return the body of a request, a record or JSON data; None without one."""
        if self.object_name is not None:
            return arguments[self.object_name]
        if self.body is None:
            return None
        fields = {name: value for name, value in arguments.items() if name in self.body.model_fields}
        return self.body.trusted(**fields).to_dict()

    def query_of(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the query of a request."""
        return {json_name(one.name): arguments[one.name] for one in self.query}


class _Options(TypedDict, total=False):
    body: type[Record]
    field: str
    reads: bool
    waits: bool
    is_false_if_gone: bool


def ours(method: Method, path: str, **options: Unpack[_Options]) -> Callable[[F], F]:
    """Make a method of a facet a row with a route of our own, which is made from it; `path` is below `OWN`."""
    return _row(method, OWN + path, options)


def opencode(method: Method, path: str, **options: Unpack[_Options]) -> Callable[[F], F]:
    """Make a method of a facet a row whose route OpenCode's API has, which is written in `server/routes/`."""
    return _row(method, path, options)


def _row(method: Method, path: str, options: _Options) -> Callable[[F], F]:
    def add(function: F) -> F:
        function.__dict__["call"] = Call(function, method, path, **options)
        return function

    return add


def calls_of(facet: type) -> dict[str, Call]:
    """Return the rows of a facet by the names of its methods, in order."""
    found = {name: getattr(member, "__dict__", {}).get("call") for name, member in vars(facet).items()}
    return {name: call for name, call in found.items() if isinstance(call, Call)}


def records_in(annotation: Any) -> list[type[Record]]:
    """Return the classes of records that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return [annotation]
    return [record for argument in get_args(annotation) for record in records_in(argument)]


def struct_in(annotation: Any) -> type[Struct] | None:
    """Return the class of the items of a sequence of structs, which are lighter than records; None for another type."""
    items = get_args(annotation) if is_sequence(annotation) else ()
    return items[0] if items and isinstance(items[0], type) and issubclass(items[0], Struct) else None


def is_object(annotation: Any) -> bool:
    """Return whether a parameter of this type is a whole body: a record, one of several, or an object."""
    return annotation == JsonObject or (bool(records_in(annotation)) and not is_sequence(annotation))


def is_sequence(annotation: Any) -> bool:
    """Return whether a type is a sequence."""
    return getattr(annotation, "__origin__", None) is Sequence
