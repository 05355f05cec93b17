"""The names of the operations, by which OpenCode 2's own program calls them (`lildax api v2.health.get`)."""

from fastapi import FastAPI
from fastapi.routing import APIRoute

OPERATIONS: dict[tuple[str, str], str] = {
    ("GET", "/api/health"): "v2.health.get",
    ("GET", "/api/location"): "v2.location.get",
    ("GET", "/api/agent"): "v2.agent.list",
    ("GET", "/api/session"): "v2.session.list",
    ("POST", "/api/session"): "v2.session.create",
    ("GET", "/api/session/active"): "v2.session.active",
    ("GET", "/api/session/{sessionID}"): "v2.session.get",
    ("POST", "/api/session/{sessionID}/agent"): "v2.session.switchAgent",
    ("POST", "/api/session/{sessionID}/model"): "v2.session.switchModel",
    ("POST", "/api/session/{sessionID}/prompt"): "v2.session.prompt",
    ("POST", "/api/session/{sessionID}/compact"): "v2.session.compact",
    ("POST", "/api/session/{sessionID}/wait"): "v2.session.wait",
    ("POST", "/api/session/{sessionID}/revert/stage"): "v2.session.revert.stage",
    ("POST", "/api/session/{sessionID}/revert/clear"): "v2.session.revert.clear",
    ("POST", "/api/session/{sessionID}/revert/commit"): "v2.session.revert.commit",
    ("GET", "/api/session/{sessionID}/context"): "v2.session.context",
    ("GET", "/api/session/{sessionID}/history"): "v2.session.history",
    ("GET", "/api/session/{sessionID}/event"): "v2.session.events",
    ("POST", "/api/session/{sessionID}/interrupt"): "v2.session.interrupt",
    ("GET", "/api/session/{sessionID}/message/{messageID}"): "v2.session.message",
    ("GET", "/api/session/{sessionID}/message"): "v2.session.messages",
    ("GET", "/api/model"): "v2.model.list",
    ("GET", "/api/provider"): "v2.provider.list",
    ("GET", "/api/provider/{providerID}"): "v2.provider.get",
    ("GET", "/api/integration"): "v2.integration.list",
    ("GET", "/api/integration/{integrationID}"): "v2.integration.get",
    ("POST", "/api/integration/{integrationID}/connect/key"): "v2.integration.connect.key",
    ("POST", "/api/integration/{integrationID}/connect/oauth"): "v2.integration.connect.oauth",
    ("GET", "/api/integration/attempt/{attemptID}"): "v2.integration.attempt.status",
    ("DELETE", "/api/integration/attempt/{attemptID}"): "v2.integration.attempt.cancel",
    ("POST", "/api/integration/attempt/{attemptID}/complete"): "v2.integration.attempt.complete",
    ("PATCH", "/api/credential/{credentialID}"): "v2.credential.update",
    ("DELETE", "/api/credential/{credentialID}"): "v2.credential.remove",
    ("GET", "/api/permission/request"): "v2.permission.request.list",
    ("GET", "/api/permission/saved"): "v2.permission.saved.list",
    ("DELETE", "/api/permission/saved/{id}"): "v2.permission.saved.remove",
    ("POST", "/api/session/{sessionID}/permission"): "v2.session.permission.create",
    ("GET", "/api/session/{sessionID}/permission"): "v2.session.permission.list",
    ("GET", "/api/session/{sessionID}/permission/{requestID}"): "v2.session.permission.get",
    ("POST", "/api/session/{sessionID}/permission/{requestID}/reply"): "v2.session.permission.reply",
    ("GET", "/api/fs/read/{path}"): "v2.fs.read",
    ("GET", "/api/fs/list"): "v2.fs.list",
    ("GET", "/api/fs/find"): "v2.fs.find",
    ("GET", "/api/command"): "v2.command.list",
    ("GET", "/api/skill"): "v2.skill.list",
    ("GET", "/api/event"): "v2.event.subscribe",
    ("GET", "/api/pty"): "v2.pty.list",
    ("POST", "/api/pty"): "v2.pty.create",
    ("GET", "/api/pty/{ptyID}"): "v2.pty.get",
    ("PUT", "/api/pty/{ptyID}"): "v2.pty.update",
    ("DELETE", "/api/pty/{ptyID}"): "v2.pty.remove",
    ("POST", "/api/pty/{ptyID}/connect-token"): "v2.pty.connectToken",
    ("GET", "/api/pty/{ptyID}/connect"): "v2.pty.connect",
    ("GET", "/api/question/request"): "v2.question.request.list",
    ("GET", "/api/session/{sessionID}/question"): "v2.session.question.list",
    ("POST", "/api/session/{sessionID}/question/{requestID}/reply"): "v2.session.question.reply",
    ("POST", "/api/session/{sessionID}/question/{requestID}/reject"): "v2.session.question.reject",
    ("GET", "/api/reference"): "v2.reference.list",
    ("POST", "/experimental/project/{projectID}/copy"): "v2.projectCopy.create",
    ("DELETE", "/experimental/project/{projectID}/copy"): "v2.projectCopy.remove",
    ("POST", "/experimental/project/{projectID}/copy/refresh"): "v2.projectCopy.refresh",
}
"""The name of each method and path of the preview."""

RELEASED: dict[tuple[str, str], str] = {
    ("GET", "/api/info"): "server.info",
    ("DELETE", "/api/session/{sessionID}"): "session.remove",
    ("PATCH", "/api/session/{sessionID}"): "session.update",
    ("POST", "/api/session/{sessionID}/rename"): "session.rename",
    ("POST", "/api/session/{sessionID}/fork"): "session.fork",
    ("DELETE", "/api/session/{sessionID}/revert"): "session.revert.clear",
    ("GET", "/api/session/{sessionID}/inbox"): "session.inbox.list",
    ("DELETE", "/api/session/{sessionID}/inbox/{inboxID}"): "session.inbox.cancel",
    ("PATCH", "/api/session/{sessionID}/inbox/{inboxID}"): "session.inbox.update",
    ("POST", "/api/session/{sessionID}/generate"): "session.generate",
    ("POST", "/api/session/{sessionID}/shell"): "session.shell",
    ("POST", "/api/session/{sessionID}/command"): "session.command",
    ("POST", "/api/experimental/session/{sessionID}/wait"): "experimental.session.wait",
}
"""The name of what the released version documents beside these: not tried with its programs."""


def name_operations(app: FastAPI) -> None:
    """Give the routes these names in the description of the application. Raises KeyError for a route without one."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            path = route.path.replace(":path}", "}")
            method = min(route.methods or ())
            route.operation_id = OPERATIONS.get((method, path)) or RELEASED[(method, path)]
