"""Creates a branch, pushes it, and opens a pull request with `gh` or `glab`, each as its own step that the user asked for."""

import re
from collections.abc import Mapping

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.programs import OutputLimitError, Program, run_program
from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.review.changes import find_head
from opencode_tui.programs import find_program, safe_environ
from opencode_tui.schema.api.review import GitReport, PublishPlan, PullRequest
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.system_error import cause_of

PUSH_S = 3600.0
"""Seconds that a push may take with its hooks."""

REQUEST_S = 120.0
"""Seconds that the program for pull requests has."""

SHOWN = 50
"""Commits that a plan names."""

_URL = re.compile(r"https?://[^\s\x00-\x1f\x7f<>\"']+")
_TOOLS = ("gh", "glab")


async def create_branch(git: SafeGit, name: str) -> str:
    """Create a branch at the present commit and switch to it, files and index as they are; return its name. Raises ConfigError."""
    if name.startswith("-") or not name.isprintable():
        raise ConfigError(f"{name!r} is no name of a branch")
    try:
        await git.run("check-ref-format", "--branch", name)
    except GitUnavailableError as error:
        raise ConfigError(f"{name!r} is no name of a branch") from error
    if await git.run("for-each-ref", "--format=%(refname)", f"refs/heads/{name}"):
        raise ConfigError(f"there is a branch {name} already; choose another name")
    if await find_head(git):  # before the first commit there is nothing that a branch could name
        await git.run("branch", "--no-track", name, "HEAD")
    await git.run("symbolic-ref", "-m", f"switch to {name}", "HEAD", f"refs/heads/{name}")
    return name


async def plan_push(git: SafeGit, repository: Repository, environ: Mapping[str, str]) -> PublishPlan:
    """Return what a push of the present branch would do. Raises ConfigError without a branch, a commit or a remote."""
    branch = repository.branch
    if branch is None:
        raise ConfigError("no branch is checked out; create one, then push it")
    remotes = (await git.run("remote")).split()
    if not remotes:
        raise ConfigError("the repository has no remote; add one with `git remote add origin URL`")
    configured = await _setting(git, f"branch.{branch}.pushRemote") or await _setting(git, "remote.pushDefault")
    remote = configured or await _setting(git, f"branch.{branch}.remote")
    if remote not in remotes:
        remote = "origin" if "origin" in remotes else remotes[0]
    known = f"refs/remotes/{remote}/{branch}"
    is_new = not await git.run("for-each-ref", "--format=%(refname)", known)
    since = ("--not", f"--remotes={remote}") if is_new else (f"^{known}",)
    try:
        subjects = await git.run("log", "-z", f"--max-count={SHOWN}", "--format=%s", f"refs/heads/{branch}", *since)
    except GitUnavailableError as error:
        raise ConfigError(f"{branch} has no commits; commit something first") from error
    url = (await git.run("remote", "get-url", "--push", remote)).strip()
    tool = next((name for name in _TOOLS if find_program(name, environ, repository.worktree)), "")
    commits = [line for line in subjects.split("\0") if line]
    return PublishPlan(
        branch=branch, remote=remote, url=_without_secret(url), commits=commits, is_new=is_new, tool=tool
    )


async def push(git: SafeGit, repository: Repository, environ: Mapping[str, str]) -> GitReport:
    """Push the present branch to the branch of the same name, which is followed from then on. Raises ConfigError."""
    plan = await plan_push(git, repository, environ)
    ref = f"refs/heads/{plan.branch}"
    words = ("--set-upstream", "--", plan.remote, f"{ref}:{ref}")
    answer = await git.run_for_user("push", *words, timeout_s=PUSH_S)
    found = _URL.search(answer.text.replace(plan.url, ""))
    return GitReport(is_done=answer.code == 0, output=answer.text, url=found[0] if found else "")


async def open_request(
    repository: Repository, environ: Mapping[str, str], plan: PublishPlan, wanted: PullRequest
) -> GitReport:
    """Open a pull request for the pushed branch with the program of the plan. Raises ConfigError without one."""
    program = find_program(plan.tool, environ, repository.worktree) if plan.tool else None
    if program is None:
        raise ConfigError("neither gh nor glab is installed; open the address that the push printed")
    if plan.tool == "gh":
        words = ["pr", "create", "--title", wanted.title, "--body", wanted.body, "--head", plan.branch]
    else:
        words = ["mr", "create", "--title", wanted.title, "--description", wanted.body, "--yes"]
        words += ["--source-branch", plan.branch]
    quiet = {"GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    variables = safe_environ({**environ, **quiet}, repository.worktree)
    try:
        ran = await run_program(Program([program, *words], repository.worktree, variables), b"", limit_s=REQUEST_S)
    except TimeoutError:
        return GitReport(is_done=False, output=f"{plan.tool} took longer than {REQUEST_S:g} s")
    except (OutputLimitError, OSError) as error:
        return GitReport(is_done=False, output=f"{plan.tool} failed: {cause_of(error)}")
    texts = [one.decode("utf-8", "replace").strip() for one in (ran.output, ran.errors)]
    found = _URL.search(texts[0])
    return GitReport(is_done=ran.code == 0, output="\n".join(filter(None, texts)), url=found[0] if found else "")


async def _setting(git: SafeGit, name: str) -> str:
    """Return a setting of git; empty where it is not set."""
    try:
        return (await git.run("config", "--get", name)).strip()
    except GitUnavailableError:
        return ""


def _without_secret(url: str) -> str:
    """Return an address without the name and the password in it."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark and scheme in ("http", "https") else url
