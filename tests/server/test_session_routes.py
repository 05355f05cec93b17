"""Sessions over HTTP, and the shapes of what goes wrong."""

import asyncio

import pytest

UNKNOWN = "ses_000000000000doesnotexist00"


async def test_a_session_is_made_without_a_body_and_found_again(serve, project):
    async with serve() as face:
        made = (await face.http.post("/session")).json()
        found = (await face.http.get(f"/session/{made['id']}")).json()
        listed = (await face.http.get("/session")).json()
    assert found == made and listed == [made]
    assert made["directory"] == str(project.path) and made["title"].startswith("New session - ")
    assert None not in made.values() and "parentID" not in made


async def test_an_empty_body_is_taken_for_no_wishes(serve):
    headers = {"content-type": "application/json"}
    async with serve() as face:
        answers = [await face.http.post("/session", content=body, headers=headers) for body in (b"", b"{}", b"null")]
    assert [answer.status_code for answer in answers] == [200, 200, 200]


async def test_a_body_is_read_as_json_whether_the_request_says_so_or_not(serve):
    async with serve() as face:
        made = (await face.http.post("/session", content=b'{"title": "named"}')).json()
    assert made["title"] == "named"


async def test_the_list_is_ordered_by_change_and_can_be_narrowed(serve):
    async with serve() as face:
        first = await face.session(title="Alpha one")
        child = await face.session(title="beta", parentID=first)
        await asyncio.sleep(0.002)
        last = await face.session(title="ALPHA two")

        async def ids(query: str) -> list[str]:
            return [info["id"] for info in (await face.http.get(f"/session?{query}")).json()]

        assert await ids("search=alpha") == [last, first]
        assert await ids("roots=true&path=") == [last, first]
        assert await ids("limit=1") == [last]
        assert await ids("start=99999999999999") == []
        assert [info["id"] for info in (await face.http.get(f"/session/{first}/children")).json()] == [child]


async def test_a_folder_in_the_query_lists_the_sessions_of_that_very_folder(serve, project):
    (project.path / "sub").mkdir()
    (project.path.parent / "link").symlink_to(project.path / "sub")
    async with serve() as face:
        above = await face.session()
        headers = {"x-opencode-directory": str(project.path / "sub")}
        below = (await face.http.post("/session", headers=headers)).json()["id"]

        async def ids(**more) -> list[str]:
            return [info["id"] for info in (await face.http.get("/session", **more)).json()]

        assert await ids(params={"directory": str(project.path)}) == [above]
        assert await ids(params={"directory": str(project.path.parent / "link")}) == [below]
        assert set(await ids(headers=headers)) == {above, below}


@pytest.mark.slow
async def test_a_session_is_renamed_put_away_and_deleted_with_its_children(serve):
    async with serve() as face, face.events() as events:
        parent = await face.session(title="parent")
        child = await face.session(parentID=parent)
        renamed = (await face.http.patch(f"/session/{parent}", json={"title": "new"})).json()
        away = (await face.http.patch(f"/session/{parent}", json={"time": {"archived": 7}})).json()
        deleted = await face.http.delete(f"/session/{parent}")
        await events.until("session.deleted")
        seen = await events.until("session.deleted")
        left = (await face.http.get("/session")).json()
    gone = [event["properties"]["info"]["id"] for event in seen if event["type"] == "session.deleted"]
    assert (renamed["title"], away["title"], away["time"]["archived"]) == ("new", "new", 7)
    assert (deleted.json(), gone, left) == (True, [child, parent], [])


@pytest.mark.slow
async def test_an_unknown_session_is_not_found(serve):
    routes = [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/children"), ("GET", "/todo"), ("GET", "/diff"),
              ("GET", "/message"), ("POST", "/abort"), ("GET", "/message/msg_000000000000doesnotexist00")]  # fmt: skip
    async with serve() as face:
        answers = [await face.http.request(method, f"/session/{UNKNOWN}{path}") for method, path in routes]
    assert [(answer.status_code, answer.json()["name"]) for answer in answers] == [(404, "NotFoundError")] * len(routes)
    assert all(UNKNOWN in answer.json()["data"]["message"] for answer in answers)


async def test_an_id_of_another_form_is_refused_before_anything_is_read(serve):
    async with serve() as face:
        answers = [await face.http.get(f"/session/{name}") for name in ("nonsense", "msg_1", "ses_%2e%2e", "ses_a.b")]
        climbing = await face.http.get("/session/..%2f..%2fetc")
    assert [answer.status_code for answer in answers] == [400] * 4
    assert all(answer.json()["success"] is False for answer in answers)
    assert climbing.status_code == 404


async def test_what_is_wrong_with_a_body_is_told_with_its_place(serve):
    async with serve() as face:
        broken = await face.http.post("/session", content=b'{"ti', headers={"content-type": "application/json"})
        wrong = await face.http.post("/session", json={"title": 3})
        deep = await face.http.post("/session", content=b"[" * 100_000, headers={"content-type": "application/json"})
        not_finite = await face.http.post(
            "/session", content=b'{"title": NaN}', headers={"content-type": "application/json"}
        )
    assert (broken.status_code, broken.json()["data"]["message"]) == (400, "Malformed JSON in request body")
    assert (wrong.status_code, wrong.json()["data"], wrong.json()["success"]) == (400, {"title": 3}, False)
    assert [issue["path"] for issue in wrong.json()["error"]] == [["title"]]
    assert (deep.status_code, not_finite.status_code) == (400, 400)


async def test_there_is_nothing_but_the_routes(serve):
    async with serve() as face:
        missing = await face.http.get("/nowhere")
        method = await face.http.delete("/session")
    assert (missing.status_code, missing.json()["name"]) == (404, "NotFoundError")
    assert (method.status_code, method.headers["content-type"]) == (405, "application/json")


async def test_a_folder_that_cannot_be_worked_in_is_an_error_of_the_request(serve):
    async with serve() as face:
        absent = await face.http.get("/session", params={"directory": "/does/not/exist"})
        relative = await face.http.get("/session", headers={"x-opencode-directory": "somewhere"})
        odd = [await face.http.get("/session", params={"directory": name}) for name in ("/a\0b", "/" + "x" * 300)]
    assert [answer.status_code for answer in (absent, relative, *odd)] == [400] * 4
    assert "/does/not/exist" in absent.json()["data"]["message"]


async def test_the_query_wins_over_the_header_for_the_folder(serve, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with serve() as face:
        answer = await face.http.get(
            "/path",
            params={"directory": str(tmp_path / "one")},
            headers={"x-opencode-directory": str(tmp_path / "two")},
        )
    assert answer.json()["directory"] == str(tmp_path / "one")


async def test_a_session_is_forked_before_a_message_or_whole(serve):
    async with serve() as face:
        source = await face.session(title="Forkable")
        await face.say(source, "one")
        await face.say(source, "two")
        messages = (await face.http.get(f"/session/{source}/message")).json()
        boundary = {"messageID": messages[2]["info"]["id"]}
        part = (await face.http.post(f"/session/{source}/fork", json=boundary)).json()
        whole = (await face.http.post(f"/session/{source}/fork")).json()
        counts = [len((await face.http.get(f"/session/{one['id']}/message")).json()) for one in (part, whole)]
    assert (part["title"], part["metadata"]["forkedFrom"]["messageID"]) == ("Forkable (fork #1)", boundary["messageID"])
    assert counts == [2, 4] and "parentID" not in part


async def test_a_fork_at_no_message_or_of_no_session_is_refused(serve):
    async with serve() as face:
        source = await face.session()
        answers = [
            await face.http.post(f"/session/{one}/fork", json=body)
            for one, body in [
                (source, {"messageID": "msg_000000000000doesnotexist00"}),
                (UNKNOWN, {}),
                (source, {"messageID": "nonsense"}),
                (source, {"messageID": 3}),
            ]
        ]
    assert [answer.status_code for answer in answers] == [404, 404, 400, 400]
