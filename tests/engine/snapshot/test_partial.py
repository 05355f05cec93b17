from opencode_tui.engine.snapshot.entry import Entry, Unknown
from opencode_tui.engine.snapshot.objects.store import ObjectWriter
from opencode_tui.engine.snapshot.objects.view import open_view
from opencode_tui.engine.snapshot.record.step_snapshots import add_partial


def stored(world, states, **more):
    tree = world.snapshots.lock._opened.worktree
    writer = ObjectWriter(tree.store)
    view = add_partial(tree.store, writer, states, **more)
    writer.flush()
    return open_view(tree.store, view.id)


async def test_a_partial_snapshot_contains_its_states_and_nothing_else(world):
    world.write("seen.txt", "content")
    seen = await world.snapshots.track()
    entry = open_view(world.snapshots.lock._opened.worktree.store, seen.id).state("seen.txt")
    assert isinstance(entry, Entry)
    blob = entry.id
    states = {
        "deep": Entry("folder", 0o755),
        "deep/in": Entry("folder", 0o700),
        "deep/in/file": Entry("file", 0o4755, blob),
        "deep/gone": None,
        "empty": Entry("folder", 0o755),
        "link": Entry("link", 0o777, blob),
        "huge": Unknown("larger than 64 MiB"),
        "absent": None,
        "absent/below": None,
    }
    view = stored(world, states)
    assert {path: view.state(path) for path in states} == states
    assert isinstance(view.state("seen.txt"), Unknown) and isinstance(view.state("deep/other"), Unknown)


async def test_a_path_with_something_below_it_is_a_folder_whatever_was_said(world):
    await world.snapshots.track()
    file = Entry("file", 0o644, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    view = stored(world, {"above": None, "above/file": file})
    assert (view.state("above"), view.state("above/file")) == (Entry("folder", 0o755), file)


async def test_a_name_that_is_not_utf_8_is_kept(world):
    await world.snapshots.track()
    file = Entry("file", 0o600, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    assert stored(world, {"bad\udcff": file}).state("bad\udcff") == file


async def test_what_is_not_held_is_named_with_its_reason(world):
    await world.snapshots.track()
    view = stored(world, {"known": None}, skipped={"known": "ignored", "out": "ignored"})
    assert (view.state("known"), view.state("out"), view.state("out/in")) == (
        None,
        Unknown("ignored"),
        Unknown("ignored"),
    )
