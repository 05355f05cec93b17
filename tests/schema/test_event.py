from opencode_tui.client.remote_events import STRUCTURAL
from opencode_tui.schema.event.event import PartGrowth, PermissionAsked, SessionStatusChanged, to_wire
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import BusyStatus


class Live:
    def record(self):
        return TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text="abc")


def test_an_event_is_type_and_properties_on_the_wire():
    event = SessionStatusChanged(session_id="ses_1", status=BusyStatus())
    wire = to_wire(event)
    assert wire == {"type": "session.status", "properties": {"sessionID": "ses_1", "status": {"type": "busy"}}}
    assert STRUCTURAL.validate_python({"type": wire["type"], **wire["properties"]}) == event


def test_growth_carries_the_whole_part_and_the_delta():
    wire = to_wire(PartGrowth("ses_1", "msg_1", "prt_1", "c", Live().record))
    assert wire["type"] == "message.part.updated"
    assert wire["properties"]["delta"] == "c" and wire["properties"]["part"]["text"] == "abc"


def test_a_permission_request_is_the_event_itself():
    asked = PermissionAsked(id="per_1", session_id="ses_1", permission="bash", patterns=["ls"], always=["ls *"])
    assert to_wire(asked)["properties"] == {
        "id": "per_1",
        "sessionID": "ses_1",
        "permission": "bash",
        "patterns": ["ls"],
        "metadata": {},
        "always": ["ls *"],
    }
