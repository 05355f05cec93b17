"""The hook points of plugins, and how they are called.

A hook is `function(input, output)`, plain or a coroutine function; it changes `output` in place, one plugin after the other in load
order. It works on copies: what it did counts only when it ended well and in time. A failure is named in the log and among the
warnings, once for each plugin and hook, and everything goes on as if the hook were not there. Plain functions run on a thread of
their own, so that a slow one does not hold up the screen. Names: reference, section 37.
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

from opencode_tui.schema.record import JsonObject

# Plain functions of plugins, each call on a daemon thread of its own.

T = TypeVar("T")


async def run_on_thread(work: Callable[[], T]) -> T:
    """Return what the work gives, or raise what it raises; SystemExit and the like become RuntimeError."""
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
        with suppress(RuntimeError):  # the loop was closed meanwhile; nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=run, name="plugin", daemon=True).start()
    return await done


# Coroutine functions of plugins: a cancel ends them, also those that swallow it.

CANCEL_GRACE_S = 0.1
"""Seconds that a cancelled coroutine of a plugin has to clean up."""

_log = logging.getLogger(__name__)


async def run_coroutine(work: Awaitable[T]) -> T:
    """Return what the work gives, or raise what it raises; when cancelled, end the work within a fifth of a second."""
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
        _log.warning("a plugin's coroutine took no notice of a cancel and was closed")
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine):
            with suppress(RuntimeError):  # it awaits even while it is closed
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

Hook = Callable[[JsonObject, JsonObject], Awaitable[object] | object]

logger = logging.getLogger(__name__)


class PluginTimeoutError(Exception):
    """A plugin took longer than it may."""


class PluginHooks(Struct, frozen=True):
    """The hooks of one plugin."""

    plugin: str
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])


class Hooks:
    """The hooks of all plugins of a folder's instance, in load order; without plugins every call is one look into a dict."""

    def __init__(self, plugins: Sequence[PluginHooks] = (), *, limit_s: float = HOOK_LIMIT_S) -> None:
        self._limit_s = limit_s
        self._hooks: dict[str, list[tuple[str, Hook]]] = {}
        self._told: dict[tuple[str, str], str] = {}
        for plugin in plugins:
            for name, hook in plugin.hooks.items():
                self._hooks.setdefault(name, []).append((plugin.plugin, hook))

    @property
    def warnings(self) -> list[str]:
        """What has failed so far, a line for each plugin and hook."""
        return list(self._told.values())

    def has(self, name: HookName) -> bool:
        """Tell whether any plugin wants this hook, so that its input need not be made otherwise."""
        return name in self._hooks

    async def run(self, name: HookName, given: JsonObject, output: JsonObject) -> JsonObject:
        """Return the output as the plugins left it; `given` and `output` stay as they are."""
        for plugin, hook in self._hooks.get(name, ()):
            attempt = copy.deepcopy(output)
            try:
                await call_limited(
                    lambda hook=hook, attempt=attempt: hook(copy.deepcopy(given), attempt), hook, self._limit_s
                )
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's failure is named and survived
                self.fail(plugin, name, describe_failure(error))
            else:
                output = attempt
        return output

    def fail(self, plugin: str, name: str, reason: str) -> None:
        """Name a failure: also for an output of the wrong kind, which only the caller of `run` can tell."""
        key = (plugin, name)
        if key not in self._told:
            self._told[key] = (
                f"plugin {plugin}: hook {name} failed and has no effect: {reason}; mend or remove the plugin"
            )
            logger.warning("%s", self._told[key])

    def refuse(self, name: HookName, reason: str) -> None:
        """Name an output that cannot be used; it is the fault of one of the plugins with this hook."""
        self.fail(", ".join(plugin for plugin, _ in self._hooks.get(name, ())), name, reason)


async def call_limited(call: Callable[[], Any], function: Callable[..., object], limit_s: float) -> Any:
    """Return what a plugin's function gives: on the loop when it is a coroutine function, else on a thread of its own.

    Raises what it raises, PluginTimeoutError when it takes longer; a thread that goes on then is left alone.
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
