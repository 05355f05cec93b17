"""Calls the hooks of plugins.

A hook is `function(input, output)`, a function or coroutine function that changes `output` in place; plugins run in load order. It
works on copies: changes apply only if it returns without an error and in time. A failure is logged and becomes a warning, once for
each plugin and hook, and the hook has no effect. Plain functions run on threads, so that a slow one does not block the screen.
Source: docs/internals/tools.md#plugins.
"""

import asyncio
import copy
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct, field

from opencode_tui.engine.waits import waiting
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.record import JsonObject

# Plain functions of plugins: each call runs on its own daemon thread.

T = TypeVar("T")


async def run_on_thread(work: Callable[[], T]) -> T:
    """Return what the work returns, or raise what it raises; SystemExit and similar become RuntimeError."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def deliver(outcome: Callable[[], None]) -> None:
        if not done.done():
            outcome()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again on the event loop
            failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            outcome: Callable[[], None] = lambda: done.set_exception(failure)  # noqa: E731 - one of two outcomes
        else:
            outcome = lambda: done.set_result(result)  # noqa: E731 - as above
        with suppress(RuntimeError):  # the loop is closed, so nothing waits for the result
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=run, name="plugin", daemon=True).start()
    return await done


CANCEL_GRACE_S = 0.1
"""Seconds that a canceled coroutine of a plugin has to clean up."""

_log = logging.getLogger(__name__)


async def run_coroutine(work: Awaitable[T]) -> T:
    """Return what the work returns, or raise what it raises; when canceled, end the work within a fifth of a second."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await _end(task)
        raise
    return task.result()


async def _end(task: "asyncio.Future[T]") -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
    if not task.done() and isinstance(task, asyncio.Task):
        _log.warning("a plugin's coroutine ignored cancellation and was closed")
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine):
            with suppress(RuntimeError):  # it awaits while being closed
                coroutine.close()
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()


HookName = Literal[
    "event",
    "config",
    "chat.message",
    "chat.params",
    "chat.headers",
    "permission.ask",
    "command.execute.before",
    "tool.execute.before",
    "tool.execute.after",
    "tool.definition",
    "shell.env",
    "experimental.chat.messages.transform",
    "experimental.chat.system.transform",
    "experimental.session.compacting",
    "experimental.text.complete",
]
HOOK_NAMES: tuple[str, ...] = get_args(HookName)
HOOK_LIMIT_S = 10.0

OF_SETTINGS = "hooks of the settings"
"""The name of the hooks that are no plugin's."""

Hook = Callable[[JsonObject, JsonObject], Awaitable[object] | object]

logger = logging.getLogger(__name__)


class PluginTimeoutError(Exception):
    """A plugin exceeded its time limit."""


class HookBlocked(OpencodeError):
    """A hook of the settings blocks a call or a prompt; the text is its reason."""


class PluginHooks(Struct, frozen=True):
    """The hooks of one plugin; `limit_s` are the seconds that a call of one has, by default those of all plugins.

    Hooks that keep the limit themselves have `spare_s` more to end what they started; they are no part of the wait that is shown.

    `runs_commands` returns whether a hook runs commands for the input of a call, which may change files.
    """

    plugin: str
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])
    limit_s: float | None = None
    spare_s: float = 0.0
    runs_commands: Callable[[HookName, JsonObject], bool] | None = None


class Hooks:
    """The hooks of all plugins of a folder's instance, in load order; without plugins a call costs one dict lookup."""

    def __init__(self, plugins: Sequence[PluginHooks] = (), *, limit_s: float = HOOK_LIMIT_S) -> None:
        self._limit_s = limit_s
        self._hooks: dict[str, list[tuple[str, Hook, float, float]]] = {}
        self._reported: dict[tuple[str, str], str] = {}
        self._runs_commands: list[Callable[[HookName, JsonObject], bool]] = []
        for plugin in plugins:
            self.add(plugin)

    def add(self, plugin: PluginHooks) -> None:
        """Add the hooks of a plugin after those of the others."""
        if plugin.runs_commands is not None:
            self._runs_commands.append(plugin.runs_commands)
        for name, hook in plugin.hooks.items():
            limit_s = plugin.limit_s or self._limit_s
            self._hooks.setdefault(name, []).append((plugin.plugin, hook, limit_s, plugin.spare_s))

    @property
    def warnings(self) -> list[str]:
        """The failures so far, one line for each plugin and hook."""
        return list(self._reported.values())

    def has(self, name: HookName) -> bool:
        """Return whether a plugin has this hook, so that callers can avoid building its input."""
        return name in self._hooks

    def runs_commands(self, name: HookName, given: JsonObject) -> bool:
        """Return whether a command of the settings runs for this hook of a call with this input."""
        return any(runs(name, given) for runs in self._runs_commands)

    async def run(self, name: HookName, given: JsonObject, output: JsonObject) -> JsonObject:
        """Return the output as changed by the plugins; does not change `given` and `output`. Raises HookBlocked."""
        for plugin, hook, limit_s, spare_s in self._hooks.get(name, ()):
            attempt = copy.deepcopy(output)
            try:
                with waiting("hook", _name(plugin), limit_s=limit_s):
                    await call_limited(
                        lambda hook=hook, attempt=attempt: hook(copy.deepcopy(given), attempt), hook, limit_s + spare_s
                    )
            except HookBlocked:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's failure is named and survived
                self.fail(plugin, name, describe_failure(error))
            else:
                output = attempt
        return output

    def fail(self, plugin: str, name: str, reason: str) -> None:
        """Report a failure; callers of `run` also use it for an output of the wrong type."""
        key = (plugin, name)
        if key not in self._reported:
            self._reported[key] = (
                f"plugin {plugin}: hook {name} failed and has no effect: {reason}; fix or remove the plugin"
            )
            logger.warning("%s", self._reported[key])

    def refuse(self, name: HookName, reason: str) -> None:
        """Report an invalid output of one of the plugins with this hook."""
        self.fail(", ".join(plugin for plugin, *_ in self._hooks.get(name, ())), name, reason)


def _name(plugin: str) -> str:
    """Return what the screen calls it; the name of a plugin may be a long path."""
    return plugin if plugin == OF_SETTINGS else f"the plugin {plugin.rpartition('/')[2]}"


async def call_limited(call: Callable[[], Any], function: Callable[..., object], limit_s: float) -> Any:
    """Return what a plugin's function returns: on the loop for a coroutine function, else on its own thread.

    Raises what it raises, PluginTimeoutError after the time limit; a thread that is still running then is abandoned.
    """
    is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
    )
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            given = call() if is_coroutine else await run_on_thread(call)
            return await run_coroutine(given) if inspect.isawaitable(given) else given
    except TimeoutError:
        if limit.expired():
            raise PluginTimeoutError(f"it took longer than {limit_s:g} s") from None
        raise


def describe_failure(error: BaseException) -> str:
    """Return an error of a plugin in one line."""
    if isinstance(error, PluginTimeoutError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
