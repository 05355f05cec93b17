import json
import os

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.schema.api.project import ProjectInfo, ProjectTime
from opencode_tui.schema.file_path import read_path, write_path
from opencode_tui.schema.session.message import MessagePath
from opencode_tui.schema.session.part import PART, PatchPart
from opencode_tui.schema.session.prefix import SessionPrefix
from opencode_tui.schema.session.session import SessionInfo, SessionTime

NAMES = st.binary(min_size=1, max_size=40).map(lambda name: name.replace(b"\0", b"x"))


def patch(*files: str) -> PatchPart:
    return PatchPart(id="prt_1", session_id="ses_1", message_id="msg_1", hash="h", files=list(files))


@given(NAMES)
def test_any_file_name_survives_a_record(name):
    part = patch(os.fsdecode(name))
    data = part.to_json()
    read = PART.validate_json(data)
    assert isinstance(read, PatchPart) and os.fsencode(read.files[0]) == name
    assert read.to_json() == data and json.loads(data)["files"] == part.to_dict()["files"]


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True))
def test_two_names_are_never_written_alike(names):
    first, second = (write_path(os.fsdecode(name)) for name in names)
    assert first != second


def test_a_usual_path_is_written_as_it_is():
    assert write_path("/p/ü 한 .txt") == read_path("/p/ü 한 .txt") == "/p/ü 한 .txt"
    assert write_path("bad\udcff.txt") == "bad\0ff.txt"


@given(NAMES)
def test_a_folder_of_any_name_survives_the_record_of_its_session_and_the_lists(name):
    folder = os.fsdecode(b"/" + name)
    info = SessionInfo(
        id="ses_1",
        version="1",
        project_id="global",
        directory=folder,
        title="t",
        time=SessionTime(created=1, updated=1),
    )
    data = info.to_json()
    assert SessionInfo.model_validate_json(data).directory == folder


@given(NAMES)
def test_a_folder_of_any_name_survives_the_other_records_that_name_one(name):
    folder = os.fsdecode(b"/" + name)
    path = MessagePath(cwd=folder, root=folder)
    assert MessagePath.model_validate_json(path.to_json()) == path
    project = ProjectInfo(id="global", worktree=folder, time=ProjectTime(created=1), sandboxes=[folder])
    assert ProjectInfo.model_validate_json(project.to_json()) == project
    prefix = SessionPrefix(directory=folder)
    assert SessionPrefix.model_validate_json(prefix.to_json()).directory == folder
