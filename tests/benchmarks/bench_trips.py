"""How many modules of the product a prompt, a delta and an undo pass, counted with a profile hook on the running program.

Modules of `schema/` are never counted. The rules:

- A prompt and an undo are calls. A module counts when it is on the chain of calls to an effect: the HTTP request, a file that
  is replaced, renamed, linked or removed, or work that is handed to another thread. Who starts a task is part of its chain.
  What the chain calls on the way and what has returned by then (a predicate, a parser) does not count.
- A delta rises through generators that return, so no chain is left at its end. A module counts when one of its functions is
  given the delta or returns it: as text or bytes, or directly in a field or an element of one value. The trip to the drawn cell
  leaves `storage/` out, which is the trip to the disk.
- Modules of building are those that make objects of several other modules' classes while `open_client` opens the folder.

Each trip was made before it is counted, so that nothing is loaded or made for the first time.
"""

import asyncio
import contextvars
import inspect
import io
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import opencode_tui
from opencode_tui.cli.main import run_command_line
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen import screen
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

PROMPT_GOAL, BUILD_GOAL = 20, 3
DISK_GOAL, CELL_GOAL = 11, 18
UNDO_GOAL = 20
"""Three more for a prompt and an undo, one more for a delta, than before messages changed through a session's writer alone, which
first removes what another process withdrew (`records/writer.py`, `request_records.py`), and before the tasks of an engine were
guarded (`tasks.py`)."""

_PRODUCT = f"{Path(opencode_tui.__file__).parent}{os.sep}"
_EFFECTS = frozenset({"replace", "rename", "link", "unlink", "rmdir", "symlink"})
_CONSTRUCTIONS = 2
_MARK = "QZXV"
_EDIT = '<<tool read {"filePath":"a.txt"}>> <<tool edit {"filePath":"a.txt","oldString":"one","newString":"two"}>>'

_chain: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("chain", default=())
"""The modules on the chain of calls that started the task that runs."""

_is_earlier: contextvars.ContextVar[bool] = contextvars.ContextVar("is_earlier", default=False)
"""Whether the task that runs was started before the trip or by opening the folder, as what watches the branch: it is no part."""


@dataclass
class CallTrip:
    """What the profile hook sees of a call, while `is_counting`."""

    is_counting: bool = False
    modules: dict[str, None] = field(default_factory=dict[str, None])
    constructions: Counter[str] = field(default_factory=Counter[str])

    def observe(self, frame: FrameType, event: str, argument: Any) -> None:
        """Serve as the profile hook; the request of httpcore ends the trip."""
        if not self.is_counting:
            return
        if event == "c_call" and _is_effect(argument):
            self._add_chain(frame)
        elif event == "call" and frame.f_code.co_qualname == "AsyncConnectionPool.handle_async_request":
            self._add_chain(frame)
            self.is_counting = False
        elif event == "call" and frame.f_code.co_name == "__init__" and (name := module_of(frame.f_code)) is not None:
            self._add_construction(name, list(_callers(frame)))

    def _add_chain(self, frame: FrameType) -> None:
        frames = [frame, *_callers(frame)]
        if not _is_earlier.get() and not _opens_client(frames):
            self.modules.update(dict.fromkeys((*_chain.get(), *_modules(frames))))

    def _add_construction(self, name: str, callers: list[FrameType]) -> None:
        maker = module_of(callers[0].f_code) if callers else None
        if maker not in (None, name) and _opens_client(callers):
            self.constructions[str(maker)] += 1

    @property
    def builders(self) -> list[str]:
        """Return the modules that build services."""
        return [name for name, count in self.constructions.items() if count >= _CONSTRUCTIONS]


@dataclass
class DeltaTrip:
    """What the profile hook sees of a delta, while `is_counting`."""

    is_counting: bool = False
    modules: dict[str, None] = field(default_factory=dict[str, None])

    def observe(self, frame: FrameType, event: str, argument: Any) -> None:
        """Serve as the profile hook."""
        if not self.is_counting or event not in ("call", "return") or (name := module_of(frame.f_code)) is None:
            return
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [argument] if event == "return" else [frame.f_locals.get(name) for name in names if name != "self"]
        if any(_has_mark(value) for value in values):
            self.modules[name] = None


def module_of(code: CodeType) -> str | None:
    """Return the product's module that contains a function; None for `schema`, module and class bodies, and other code."""
    if not code.co_filename.startswith(_PRODUCT) or not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    name = code.co_filename[len(_PRODUCT) : -len(".py")].replace(os.sep, ".")
    return None if name.startswith("schema.") else name


T = TypeVar("T", CallTrip, DeltaTrip)


@contextmanager
def observed(trip: T) -> Generator[T]:
    """Have a trip observe this thread and those that are started meanwhile."""
    threading.setprofile(trip.observe)
    sys.setprofile(trip.observe)
    try:
        yield trip
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType] - None removes the hook


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run work to its end in a loop whose tasks know the chain of calls that started them."""
    with asyncio.Runner(loop_factory=linking_loop) as runner:
        runner.run(work)


def linking_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop whose tasks know the chain of calls that started them."""
    loop = asyncio.SelectorEventLoop()

    def make_task(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> "asyncio.Task[Any]":
        context: contextvars.Context = options.pop("context", None) or contextvars.copy_context()
        callers = list(_callers(sys._getframe()))
        context.run(_chain.set, (*_chain.get(), *_modules(callers)))
        if _opens_client(callers):
            context.run(_is_earlier.set, True)
        return asyncio.Task(coroutine, loop=loop, context=context, **options)

    loop.set_task_factory(make_task)  # pyright: ignore[reportArgumentType] - tasks are made of coroutines only here
    return loop


class LinkingPolicy(asyncio.DefaultEventLoopPolicy):
    """Gives `asyncio.run` of the command line such a loop."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return one."""
        return linking_loop()


def count_prompt(folder: Path, environ: dict[str, str]) -> CallTrip:
    """Return the trip from the command line's `run` to the HTTP request."""
    with ModelServer() as server, _variables(folder, environ, {"provider": server.config()}), _linked_tasks():
        arguments = ["run", "-m", "fake/fake-model"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert run_command_line([*arguments, "a first one"]) == 0
            with observed(CallTrip(is_counting=True)) as trip:
                assert run_command_line([*arguments, "hello"]) == 0
    assert not trip.is_counting, "no request was sent"
    return trip


def count_delta_to_disk(folder: Path, environ: dict[str, str]) -> DeltaTrip:
    """Return the trip of one delta from the provider's bytes to the file that holds it."""
    text, mark, end = f"one two three {_MARK} five end", threading.Event(), threading.Event()
    answer = Answer(text=text, holds=((_MARK, mark), ("end", end)))

    async def work() -> None:
        async with opened(environ, folder, answer) as world:
            turn = asyncio.create_task(world.prompt("hello"))
            await asyncio.sleep(1.5)  # the words before it are on disk, and nothing happens
            trip.is_counting = True
            mark.set()
            async with asyncio.timeout(5):
                while not _is_stored(Path(environ["XDG_DATA_HOME"])):
                    await asyncio.sleep(0.02)
            trip.is_counting = False
            end.set()
            await turn

    with observed(DeltaTrip()) as trip:
        run(work())
    return trip


def count_delta_to_cell(folder: Path, environ: dict[str, str]) -> DeltaTrip:
    """Return the trip of one delta from the provider's bytes to a rendered line of the screen."""
    mark, end = threading.Event(), threading.Event()
    answer = Answer(text=f"one two three {_MARK} five end", holds=((_MARK, mark), ("end", end)))

    async def work() -> None:
        async with screen(environ, folder, answer) as page:
            await page.send("hello")
            await page.sees("three")
            await asyncio.sleep(1.5)
            trip.is_counting = True
            mark.set()
            await page.sees(_MARK)
            trip.is_counting = False
            end.set()
            await page.sees("end")

    with observed(DeltaTrip()) as trip:
        run(work())
    return trip


def count_undo(folder: Path, environ: dict[str, str]) -> CallTrip:
    """Return the trip from the client's `revert` until a file has its content from before."""

    async def work() -> None:
        _is_earlier.set(True)
        async with opened(environ, folder) as world:
            for _ in range(2):
                session = await world.prompt(f"change it {_EDIT}")
                assert (folder / "a.txt").read_text() == "two\n"
                trip.modules.clear()
                _is_earlier.set(False)
                trip.is_counting = True
                await world.client.undo.revert(session.id)
                trip.is_counting = False
                _is_earlier.set(True)
                assert (folder / "a.txt").read_text() == "one\n"

    with observed(CallTrip()) as trip:
        run(work())
    return trip


def count_trips(folder: Path) -> dict[str, tuple[list[str], int]]:
    """Return the modules of each trip, and the most that they should be, by what the trip is; works in an empty folder."""
    repo = make_repo(folder / "project")
    repo.commit(**{"a.txt": "one\n"})
    (folder / "home").mkdir()
    environ = isolated_environment(folder / "home")
    prompt = count_prompt(repo.path, environ)
    disk, cell = count_delta_to_disk(repo.path, environ), count_delta_to_cell(repo.path, environ)
    undo = count_undo(repo.path, environ)
    return {
        "a prompt to the HTTP request": (list(prompt.modules), PROMPT_GOAL),
        "building services for it": (prompt.builders, BUILD_GOAL),
        "a delta to the disk": (list(disk.modules), DISK_GOAL),
        "a delta to the drawn cell": ([name for name in cell.modules if not name.startswith("storage.")], CELL_GOAL),
        "an undo to the restored files": (list(undo.modules), UNDO_GOAL),
    }


def main() -> int:
    """Make the trips and print their modules, then the counts with the goals."""
    with tempfile.TemporaryDirectory() as name:
        trips = count_trips(Path(name).resolve())
    for title, (names, _) in trips.items():
        print(f"\n{title}: {len(names)}", *names, sep="\n  ")
    print()
    return report([Figure(f"modules: {title}", len(names), goal, "") for title, (names, goal) in trips.items()])


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def _modules(frames: Iterable[FrameType]) -> tuple[str, ...]:
    """Return the modules of frames, innermost first, as a chain from the outermost on."""
    return tuple(name for frame in reversed(list(frames)) if (name := module_of(frame.f_code)))


def _opens_client(frames: list[FrameType]) -> bool:
    """Return whether these frames open a folder's client; its end comes after every trip."""
    return any(frame.f_code.co_name == "open_client" and module_of(frame.f_code) for frame in frames)


def _is_effect(function: Any) -> bool:
    if getattr(function, "__module__", None) == os.replace.__module__:
        return function.__name__ in _EFFECTS
    return (
        getattr(function, "__name__", "") == "put"
        and type(getattr(function, "__self__", None)).__name__ == "SimpleQueue"
    )


def _has_mark(value: object, *, is_inner: bool = False) -> bool:
    if isinstance(value, str):
        return _MARK in value
    if isinstance(value, bytes | bytearray):
        return _MARK.encode() in value
    if is_inner:
        return False
    if isinstance(value, Mapping):
        return any(_has_mark(inner, is_inner=True) for inner in value.values())
    if isinstance(value, list | tuple):
        return any(_has_mark(inner, is_inner=True) for inner in value)
    if not type(value).__module__.startswith(opencode_tui.__name__):
        return False
    fields = getattr(value, "__dict__", None) or dict.fromkeys(
        name for owner in type(value).__mro__ for name in getattr(owner, "__slots__", ())
    )
    return any(_has_mark(getattr(value, name, None), is_inner=True) for name in fields)


def _is_stored(data: Path) -> bool:
    return any(_MARK in path.read_text() for path in data.rglob("prt_*.json"))


@contextmanager
def _variables(folder: Path, environ: dict[str, str], settings: dict[str, Any]) -> Generator[None]:
    before, path = dict(os.environ), Path.cwd()
    os.environ.clear()
    os.environ.update({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings)})
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(path)
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _linked_tasks() -> Generator[None]:
    asyncio.set_event_loop_policy(LinkingPolicy())  # pyright: ignore[reportDeprecated] - not on the versions that are supported
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(None)  # pyright: ignore[reportDeprecated] - as above


if __name__ == "__main__":
    sys.exit(main())
