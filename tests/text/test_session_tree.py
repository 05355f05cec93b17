from opencode_tui.cli.session_choice import nearest
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.session_tree import build_tree
from tests.support.sessions.records import session_info


def info(
    name: str, *, used: int = 0, parent: str | None = None, origin: str | None = None, title: str = ""
) -> SessionInfo:
    metadata = {"forkedFrom": {"sessionID": f"ses_{origin}"}} if origin else None
    parent_id = f"ses_{parent}" if parent else None
    return session_info(f"ses_{name}", updated=used, title=title or name, parent_id=parent_id, metadata=metadata)


def drawn(*infos: SessionInfo) -> list[str]:
    return [f"{row.branch}{row.info.title}" for row in build_tree(map(listed, infos))]


def test_forks_and_agents_stand_below_what_they_came_from_newest_first():
    infos = [
        info("old", used=1),
        info("new", used=9),
        info("fork", used=5, origin="old"),
        info("agent", used=7, parent="old"),
        info("deep", used=3, parent="agent"),
    ]
    assert drawn(*infos) == ["new", "old", "├ agent", "│ └ deep", "└ fork"]


def test_what_came_from_a_session_that_is_gone_stands_at_the_top():
    assert drawn(info("child", parent="gone"), info("fork", origin="gone")) == ["child", "fork"]


def test_a_circle_hides_no_session():
    assert sorted(drawn(info("a", parent="b"), info("b", parent="a"), info("c", parent="c"))) == ["a", "c", "└ b"]


def test_the_nearest_begin_so_look_alike_or_have_it_in_their_title():
    given = [info("e08a1111"), info("e08a2222"), info("ffff", title="Fix the parser")]
    infos = [listed(one) for one in given]
    assert [one.id for one in nearest("ses_e08a", infos)][:2] == ["ses_e08a1111", "ses_e08a2222"]
    assert nearest("ses_e08a2223", infos)[0].id == "ses_e08a2222"
    assert [one.id for one in nearest("PARSER", infos)] == ["ses_ffff"]
    assert nearest("nothing", infos) == []
