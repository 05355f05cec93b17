import asyncio
import threading
import time

import pytest

from opencode_tui.engine.plugin.hooks import Hooks, PluginHooks
from opencode_tui.engine.waits import reporting
from opencode_tui.schema.session.session import Wait
from tests.support.world.waiting import PATIENCE_S


def hooks(*functions, name="chat.params", limit_s=PATIENCE_S):
    plugins = [PluginHooks(f"p{number}", {name: function}) for number, function in enumerate(functions, start=1)]
    return Hooks(plugins, limit_s=limit_s)


async def test_hooks_change_the_output_in_load_order():
    def first(given, output):
        output["said"].append(given["word"])

    async def second(given, output):
        await asyncio.sleep(0)
        output["said"].append("second")

    assert await hooks(first, second).run("chat.params", {"word": "first"}, {"said": []}) == {
        "said": ["first", "second"]
    }


async def test_what_was_given_stays_as_it_is():
    def change(given, output):
        given["a"].append(2)
        output["b"].append(2)

    given, output = {"a": [1]}, {"b": [1]}
    assert await hooks(change).run("chat.params", given, output) == {"b": [1, 2]}
    assert (given, output) == ({"a": [1]}, {"b": [1]})


async def test_a_hook_that_fails_half_way_has_no_effect_and_is_named_once():
    def broken(given, output):
        output["n"] = 99
        raise KeyError("x")

    def good(given, output):
        output["n"] += 1

    both = hooks(broken, good)
    assert [await both.run("chat.params", {}, {"n": 1}) for _ in range(2)] == [{"n": 2}, {"n": 2}]
    assert both.warnings == [
        "plugin p1: hook chat.params failed and has no effect: KeyError: 'x'; fix or remove the plugin"
    ]


@pytest.mark.parametrize("is_coroutine", [True, False])
async def test_a_hook_that_takes_too_long_has_no_effect(is_coroutine):
    def sleeping(given, output):
        time.sleep(0.3)
        output["n"] = 99

    async def waiting(given, output):
        await asyncio.sleep(30)

    slow = hooks(waiting if is_coroutine else sleeping, limit_s=0.05)
    assert await slow.run("chat.params", {}, {"n": 1}) == {"n": 1}
    assert slow.warnings[0].endswith("it took longer than 0.05 s; fix or remove the plugin")


async def test_a_timeout_of_the_hooks_own_is_its_failure_not_our_limit():
    async def own(given, output):
        raise TimeoutError("theirs")

    failing = hooks(own)
    await failing.run("chat.params", {}, {})
    assert "TimeoutError: theirs" in failing.warnings[0]


async def test_a_plain_hook_does_not_hold_up_the_loop():
    loop_went_on = threading.Event()

    def waiting(given, output):
        output["loop went on"] = loop_went_on.wait(PATIENCE_S)

    task = asyncio.create_task(hooks(waiting, limit_s=60).run("chat.params", {}, {}))
    await asyncio.sleep(0.01)
    loop_went_on.set()
    assert await task == {"loop went on": True}


async def test_a_cancel_ends_the_wait_for_a_plain_hook_at_once():
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def waiting(given, output):
        begun.set()
        release.wait(PATIENCE_S)
        ended.set()

    task = asyncio.create_task(hooks(waiting, limit_s=60).run("chat.params", {}, {}))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await asyncio.wait({task})
    assert (task.cancelled(), ended.is_set()) == (True, False)
    release.set()


async def swallow(*_):
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            continue


async def test_a_hook_that_takes_no_notice_of_a_cancel_ends_at_its_limit():
    assert await hooks(swallow, limit_s=0.05).run("chat.params", {}, {"n": 1}) == {"n": 1}


async def test_without_plugins_the_output_comes_back_itself():
    output = {"n": 1}
    assert await Hooks().run("chat.params", {}, output) is output
    assert not Hooks().has("chat.params")


@pytest.mark.slow
async def test_the_wait_for_a_hook_that_keeps_its_limit_itself_is_shown_with_that_limit():
    reports: list[Wait | None] = []
    is_reported = asyncio.Event()

    async def wait_for_report(_given, output):
        await is_reported.wait()
        return output

    def report(wait: Wait | None) -> None:
        reports.append(wait)
        is_reported.set()

    with reporting(report, []):
        await Hooks([PluginHooks("p", {"chat.params": wait_for_report}, limit_s=60, spare_s=5)]).run(
            "chat.params", {}, {}
        )
    assert reports[0] is not None and reports[0].limit == 60_000
