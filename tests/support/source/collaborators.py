"""The collaborators of the product's classes, read from the source: how many each holds, and which only hold them for others."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.support.source.structure import base_name, classes_of, path_of
from tests.support.source.tree import Module, SourceTree

COLLABORATOR_LIMIT = 9

_VALUES = frozenset(
    {"BaseModel", "Record", "Section", "Enum", "StrEnum", "IntEnum", "NamedTuple", "TypedDict", "Exception"}
)
"""The bases of values: what is stored, sent or read from settings, names, tuples and errors."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The collaborators of a class: those that it makes, and those that it was given; `unused` are read by no method of its own.

    `bags` are the classes among their types that only pass their collaborators on, with how many these are.
    """

    made: tuple[str, ...]
    given: tuple[str, ...]
    unused: tuple[str, ...]
    bags: tuple[tuple[str, int], ...] = ()

    @property
    def count(self) -> int:
        """Return how many collaborators there are, those in a bag in its place."""
        return len(self.made) + len(self.given) + sum(count - 1 for _, count in self.bags)

    @property
    def is_bag(self) -> bool:
        """Return whether the class was given most of its collaborators for others: its own methods do not read them."""
        return len(self.unused) > (len(self.made) + len(self.given)) / 2


def classes_with_collaborators(tree: SourceTree) -> dict[str, Holder]:
    """Return the classes that hold collaborators, by `path name`; interfaces (Protocols) hold none.

    A collaborator is a field whose type names a service of the product or a function, alone or in a union, a container or a
    `Lazy`. A service is a class that is no value. Values are the classes below the bases in `_VALUES`, and structs and
    data classes of values without a method to wait for. The type of a field is its annotation in the class. One that is
    assigned to `self` has the type of its annotation, of the parameter (or the parameter's field) that is assigned, or of the
    class that is called. Fields of bases are not counted.
    """
    found = _Types(tree)
    holders = {name: found.holder(name) for name in found.classes}
    return {found.label(name): one for name, one in holders.items() if one.made or one.given}


class _Types:
    """The classes and the names of function types of a tree, by `module.name`, and what they hold."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self.classes: dict[str, tuple[Module, ast.ClassDef]] = {}
        self._aliases: dict[str, tuple[Module, ast.expr]] = {}
        self._imports: dict[str, dict[str, str]] = {}
        self._services: dict[str, bool] = {}
        self._holders: dict[str, Holder] = {}
        for module in tree.modules.values():
            self.classes |= {f"{module.name}.{node.name}": (module, node) for node in classes_of(module)}
            for node in module.tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    self._aliases[f"{module.name}.{node.targets[0].id}"] = (module, node.value)
            self._imports[module.name] = {
                alias.asname or alias.name: f"{node.module}.{alias.name}"
                for node in ast.walk(module.tree)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }

    def label(self, name: str) -> str:
        """Return a class as `path name`."""
        module, node = self.classes[name]
        return f"{path_of(self._tree, module)} {node.name}"

    def holder(self, name: str) -> Holder:
        """Return the collaborators of a class."""
        if name in self._holders:
            return self._holders[name]
        self._holders[name] = Holder((), (), ())  # for one that holds itself
        module, node = self.classes[name]
        if "Protocol" in self._bases(name):
            return self._holders[name]
        fields = {
            field: (types, is_given)
            for field, (written, is_given) in self._fields(module, node).items()
            if (types := [one for one in self._named(module, written) if self._is_service(one)])
        }
        used = set(_read_names(node))
        inner = {one for types, _ in fields.values() for one in types if one in self.classes}
        bags = [(self.label(one), self.holder(one)) for one in sorted(inner)]
        self._holders[name] = Holder(
            made=tuple(field for field, (_, is_given) in fields.items() if not is_given),
            given=tuple(field for field, (_, is_given) in fields.items() if is_given),
            unused=tuple(field for field, (_, is_given) in fields.items() if is_given and field not in used),
            bags=tuple((label, one.count) for label, one in bags if one.is_bag),
        )
        return self._holders[name]

    def _is_service(self, name: str) -> bool:
        if name == "Callable" or name not in self.classes:
            return name == "Callable"
        if name not in self._services:
            self._services[name] = False  # for one that holds itself
            module, node = self.classes[name]
            bases = self._bases(name)
            plain = "Struct" in bases or any("dataclass" in ast.unparse(one) for one in node.decorator_list)
            if bases & _VALUES or any(one.endswith("Error") for one in bases):
                is_service = False
            elif plain and "Protocol" not in bases:
                held = (
                    one for written, _ in self._fields(module, node).values() for one in self._named(module, written)
                )
                waits = any(isinstance(one, ast.AsyncFunctionDef) for one in node.body)
                is_service = waits or any(map(self._is_service, held))
            else:
                is_service = True
            self._services[name] = is_service
        return self._services[name]

    def _bases(self, name: str) -> set[str]:
        """Return the last names of all bases of a class."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            known = self.classes.get(waiting.pop())
            for base in () if known is None else known[1].bases:
                if (written := base_name(base)) not in found:
                    found.add(written)
                    waiting.append(self._resolve(known[0].name, written) if known is not None else "")
        return found

    def _resolve(self, module: str, name: str) -> str:
        """Return the full name of a class, a function type or something else that a module calls so."""
        full = f"{module}.{name}"
        if full in self.classes or full in self._aliases or name not in self._imports.get(module, {}):
            return full if module in self._imports else name
        imported = self._imports[module][name]
        origin, _, last = imported.rpartition(".")
        return self._resolve(origin, last) if origin in self._tree.modules else last

    def _named(self, module: Module, written: ast.expr | None) -> Iterator[str]:
        """Yield the classes and function types that a type names."""
        if isinstance(written, ast.Constant) and isinstance(written.value, str):
            written = ast.parse(written.value, mode="eval").body
        if isinstance(written, ast.Subscript) and base_name(written) == "Callable":
            yield "Callable"
        elif isinstance(written, ast.Subscript) and base_name(written) != "Literal":
            yield from self._named(module, written.value)
            yield from self._named(module, written.slice)
        elif isinstance(written, ast.BinOp):
            yield from self._named(module, written.left)
            yield from self._named(module, written.right)
        elif isinstance(written, ast.Tuple | ast.List):
            for one in written.elts:
                yield from self._named(module, one)
        elif isinstance(written, ast.Name):
            name = self._resolve(module.name, written.id)
            alias = self._aliases.get(name)
            yield from (name,) if alias is None else self._named(*alias)

    def _fields(self, module: Module, node: ast.ClassDef) -> dict[str, tuple[ast.expr | None, bool]]:
        """Return the type of each field, None where none is known, and whether it is given from outside."""
        fields: dict[str, tuple[ast.expr | None, bool]] = {}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                if "ClassVar" not in ast.unparse(item.annotation):
                    fields[item.target.id] = (item.annotation, item.value is None or not item.target.id.startswith("_"))
            elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                given = {one.arg: one.annotation for one in (*item.args.args, *item.args.kwonlyargs)}
                for target, annotation, value in _assigned(item):
                    source, is_given = self._source(module, value, given)
                    if fields.get(target, (None, False))[0] is None:
                        fields[target] = (annotation or source, is_given)
        return fields

    def _source(
        self, module: Module, value: ast.expr | None, given: Mapping[str, ast.expr | None]
    ) -> tuple[ast.expr | None, bool]:
        """Return the type of an assigned value, and whether it comes from a parameter."""
        if isinstance(value, ast.Name) and value.id in given:
            return given[value.id], True
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id in given:
            for one in self._named(module, given[value.value.id]):
                if one in self.classes:
                    held, _ = self._fields(*self.classes[one]).get(value.attr, (None, False))
                    names = [name for name in self._named(self.classes[one][0], held) if self._is_service(name)]
                    return (given[value.value.id] if names else None), True
        return (value.func if isinstance(value, ast.Call) else None), False


def _assigned(
    method: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Yield what a method assigns to fields of `self`: the field, the annotation and the value."""
    for node in ast.walk(method):
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr, annotation, node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def _read_names(node: ast.ClassDef) -> Iterator[str]:
    """Return the fields of `self` that methods read."""
    reads = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load))
    return (one.attr for one in reads if isinstance(one.value, ast.Name) and one.value.id == "self")
