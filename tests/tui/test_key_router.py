"""Which key goes where, for any keys at any moments: before a screen, while something is loaded, on the screen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from opencode_tui.schema.api.keybinds import Action
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import Hold, Input, KeyRouter, KeyTarget, Way

TEXT, OTHER, CLOSE, QUIT = "x", "up", "escape", "ctrl+c"
KEYS = (TEXT, OTHER, CLOSE, QUIT)
STEPS = ("open", "hold", "hold with text", "release", "screen is not ready", "screen is ready", *KEYS, "paste")


def key(name: str) -> events.Key:
    return events.Key(name, name if len(name) == 1 else None)


@dataclass(eq=False)
class World:
    """An app as the router sees it: what the screen got, and what may come to it."""

    router: KeyRouter = field(default_factory=lambda: KeyRouter(Keymap()))
    shown: list[Input] = field(default_factory=list[Input])
    """What the screen got, in order."""
    sent: list[Input] = field(default_factory=list[Input])
    """What was typed, in order."""
    dropped: list[Input] = field(default_factory=list[Input])
    """The keys that canceled a loading, and what was kept then."""
    hold: Hold | None = None
    is_ready: bool = True
    cancels: int = 0

    async def receive(self, event: Input) -> Way:
        kept = [*(self.router._kept or ())]
        way = self.router.admit(event, is_ready=self.is_ready)
        if way is Way.SCREEN:
            self.shown.append(event)
        elif way is Way.DROPPED:
            self.dropped += [event, *kept]
        return way

    async def type(self, event: Input) -> Way:
        self.sent.append(event)
        return await self.receive(event)

    @property
    def waiting(self) -> list[Input]:
        return [one for one in self.sent if one not in self.shown and one not in self.dropped]

    def cancel(self) -> None:
        self.cancels += 1

    async def step(self, name: str) -> None:
        match name:
            case "hold" | "hold with text":
                self.hold = self.router.hold(self.cancel, lets_type=name == "hold with text")
            case "release" if self.hold is not None:
                assert self.router.release(self.hold)
                self.hold = None
                await self.deliver()
            case "open":
                await self.deliver()
            case "screen is not ready":
                self.is_ready = False
            case "screen is ready":
                self.is_ready = True
                await self.deliver()
            case "paste":
                await self.type(events.Paste("pasted"))
            case _ if name in KEYS:
                await self.type(key(name))
            case _:
                pass

    async def deliver(self) -> None:
        while await self.router.deliver(self.receive):
            pass


@given(st.lists(st.sampled_from(STEPS), max_size=30))
async def test_each_key_reaches_the_screen_once_and_in_order_unless_it_was_dropped(steps: Sequence[str]) -> None:
    world = World()
    for step in steps:
        await world.step(step)
        assert [one for one in world.sent if one in world.shown] == [one for one in world.shown if one in world.sent]
        assert len(world.shown) == len({id(one) for one in world.shown})
    await world.step("screen is ready")
    await world.step("release")
    await world.deliver()
    assert world.waiting == [] and world.router.keeps_none


@given(st.lists(st.sampled_from((*KEYS, "paste")), max_size=10))
async def test_before_the_first_screen_all_is_kept(typed: Sequence[str]) -> None:
    world = World()
    for one in typed:
        await world.step(one)
    assert world.shown == [] and len(world.waiting) == len(typed)
    await world.deliver()
    assert world.shown == world.sent and len(world.shown) == len(typed)


@given(st.lists(st.sampled_from((TEXT, "paste", OTHER)), max_size=10))
async def test_while_something_loads_text_is_typed_until_the_first_other_key(typed: Sequence[str]) -> None:
    world = World()
    await world.deliver()
    await world.step("hold with text")
    for one in typed:
        await world.step(one)
    first = next((at for at, one in enumerate(typed) if one == OTHER), len(typed))
    assert world.shown == world.sent[:first]


@given(st.lists(st.sampled_from((TEXT, "paste", OTHER)), max_size=10))
async def test_the_key_that_closes_pages_cancels_what_loads_and_drops_what_is_kept(typed: Sequence[str]) -> None:
    world = World()
    await world.deliver()
    await world.step("hold")
    for one in typed:
        await world.step(one)
    assert world.shown == [] and len(world.waiting) == len(typed)
    assert await world.type(key(CLOSE)) is Way.DROPPED
    assert (world.cancels, world.waiting) == (1, [])
    await world.step("release")
    assert world.shown == []


@pytest.mark.parametrize(
    ("kept", "way"),
    [
        ((), Way.SCREEN),
        (("left", "home"), Way.SCREEN),
        (("x",), Way.KEPT),
        (("x", QUIT), Way.KEPT),
        (("x", QUIT, QUIT), Way.QUITS),
        (("x", "enter"), Way.KEPT),
        (("x", "enter", QUIT), Way.QUITS),
        (("x", "enter", QUIT, "left"), Way.KEPT),
    ],
)
async def test_a_key_that_quits_does_so_at_the_start_where_it_would_behind_the_kept_ones(
    kept: Sequence[str], way: Way
) -> None:
    router = KeyRouter(Keymap())
    router.hold()
    for name in kept:
        assert router.admit(key(name), is_ready=True) is Way.KEPT
    assert router.admit(key(QUIT), is_ready=True) is way


async def test_the_key_that_needs_the_engine_is_kept_before_those_behind_it() -> None:
    world = World()
    await world.deliver()
    first, behind = key("ctrl+p"), key(TEXT)
    assert await world.receive(first) is Way.SCREEN
    world.router.begin(first)
    hold = world.router.hold()
    assert world.router.keep_handled()
    world.router.end()
    assert await world.receive(behind) is Way.KEPT
    assert world.router.release(hold)
    world.shown.clear()
    await world.deliver()
    assert world.shown == [first, behind]


async def test_a_hold_that_another_one_replaced_releases_nothing() -> None:
    router = KeyRouter(Keymap())
    first, second = router.hold(), router.hold()
    assert not router.release(first) and not router.keeps_none
    assert router.release(second)


class Screen(KeyTarget):
    """A target that records the actions it runs, and whether it shows that a second key is expected."""

    scopes = ("chat", "app")

    def __init__(self) -> None:
        self.done: list[str] = []
        self.is_pending = False

    def can(self, action: Action) -> bool:
        return True

    def act(self, action_id: str) -> None:
        self.done.append(action_id)

    def show_leader(self, is_pending: bool) -> None:
        self.is_pending = is_pending


SECOND = st.sampled_from(("g", "n", "l", TEXT, OTHER, CLOSE, QUIT))


@given(st.lists(st.tuples(st.booleans(), SECOND, st.booleans()), max_size=12))
async def test_the_second_key_of_a_sequence_is_for_the_target_of_the_first(
    presses: Sequence[tuple[bool, str, bool]],
) -> None:
    router, page, other = KeyRouter(Keymap()), Screen(), Screen()
    for leads, name, changes in presses:
        before = [*page.done]
        if leads:
            assert router.handle(key(router.keymap.leader), page)
            assert router.is_in_sequence and page.is_pending
            router.begin(key(name))
            assert router.hold() and not router.keep_handled()  # the sequence is kept by its action
            router.end()
        router.handle(key(name), other if changes else page)
        assert not router.is_in_sequence and not page.is_pending and router.last_key == ""
        wanted = [one.id for one in router.keymap.actions(name, page.scopes, after_leader=leads)][:1]
        assert page.done == (before if changes else before + wanted)
