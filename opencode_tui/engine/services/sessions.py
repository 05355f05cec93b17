"""Builds the session services of one folder: the loop that runs turns, undo, forks, compaction."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.command.commands import SnippetShell
from opencode_tui.engine.lazy import Lazy, service
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.services.folder import FolderServices
from opencode_tui.engine.session.agent_tree import AgentLimits, AgentTrees
from opencode_tui.engine.session.budget import BudgetLimits, Budgets
from opencode_tui.engine.session.command import SessionCommands, Snippets
from opencode_tui.engine.session.compaction.policy import CompactionPolicy, CompactionRules
from opencode_tui.engine.session.loop import LoopSteps, SessionLoop, TurnEnd
from opencode_tui.engine.session.prompt import SessionPrompt
from opencode_tui.engine.session.request.attachment import Attachments
from opencode_tui.engine.session.request.builder import RequestBuilder, SystemPrompts
from opencode_tui.engine.session.request.instruction import Instructions, RemoteInstructions
from opencode_tui.engine.session.request.prefix import SessionPrefixes
from opencode_tui.engine.session.request.prefix_breaks import PrefixMonitor
from opencode_tui.engine.session.request.user_message import UserMessages
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.runs import SessionRuns
from opencode_tui.engine.session.session_lock import PartEdits
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.shell import SessionShell
from opencode_tui.engine.session.step.file_changes import StepRecorder
from opencode_tui.engine.session.step.processor import NewMessages, StepProcessor
from opencode_tui.engine.session.step.title import SessionTitles
from opencode_tui.engine.session.step.tool_calls import ResultFilter, ToolCalls
from opencode_tui.engine.session.step.unread import Unread
from opencode_tui.engine.session.subagent import EndCommands, Prompter, SessionSubagents
from opencode_tui.engine.tool.registry import read_specs
from opencode_tui.storage.task_folders import has_tasks

if TYPE_CHECKING:
    import asyncio

    from opencode_tui.config.load import LoadedConfig
    from opencode_tui.engine.command.commands import Commands
    from opencode_tui.engine.plugin.plugins import Plugins
    from opencode_tui.engine.project.discover import Project
    from opencode_tui.engine.review.message import MessageWriter
    from opencode_tui.engine.session.agent_worktree import AgentWorktree
    from opencode_tui.engine.session.turn_errors import TurnErrors
    from opencode_tui.engine.skill.skills import Skills
    from opencode_tui.engine.tool.tool import ToolContext, ToolResult
    from opencode_tui.schema.model import Model
    from opencode_tui.schema.session.message import AssistantMessage
    from opencode_tui.schema.session.session import SessionInfo

_Step = TypeVar("_Step", bound=StepProcessor)


def _usd(amount: float | None) -> Decimal | None:
    return None if amount is None else Decimal(str(amount))


class SessionServices:
    """The session services of one folder. Each attribute is one service, built on first access.

    Those that most turns do not need are a `service`: the attribute is its `Lazy`, and the method imports what it needs.
    """

    def __init__(self, core: Core, folder: FolderServices, *, trees: AgentTrees | None = None) -> None:
        """`folder` are the services that do not depend on sessions; `trees` are the agents of another folder to join."""
        self._core = core
        self.folder = folder
        self._joined_trees = trees
        self._too_large: set[tuple[str, str]] = set()
        """Sessions and models about whose context a line was shown."""
        self._searched: set[str] = set()
        """Sessions in whose turns the work of killed agents was looked for."""

    @classmethod
    def of_folder(
        cls,
        core: Core,
        project: "Project",
        config: "LoadedConfig",
        *,
        plugins: "Plugins",
        skills: "Skills",
        commands: "Commands",
    ) -> Self:
        """Return the services of a folder, with those that do not depend on sessions."""
        folder = FolderServices(core, project, config, plugins=plugins, skills=skills, commands=commands)
        folder.follow_prompts()
        return cls(core, folder)

    def build(self) -> None:
        """Build everything that is not lazy. Raises ConfigError for settings that cannot be used."""
        _ = self.prompts, self.shell, self.parts, self.folder.rules, self.folder.permissions

    @cached_property
    def sessions(self) -> Sessions:
        """Creates, lists, changes and deletes sessions."""
        core = self._core
        return Sessions(
            store=core.store,
            locks=core.locks,
            identifier=core.identifier,
            project=self.folder.project,
            sums=self._sums,
        )

    @cached_property
    def parts(self) -> PartEdits:
        """Changes and deletes single parts."""
        return PartEdits(store=self._core.store, lock=self._core.session_lock)

    @cached_property
    def prompts(self) -> SessionPrompt:
        """Runs the turns of prompts and slash commands."""
        core = self._core
        return SessionPrompt(
            store=core.store,
            runs=self.runs,
            loop=self._loop,
            users=self._users,
            recent=core.recent,
            commands=self._slash_commands,
            agents=self._agent_trees,
            lock=core.session_lock,
            is_isolated=self._joined_trees is not None,
        )

    @cached_property
    def shell(self) -> SessionShell:
        """Runs the user's shell commands."""
        core = self._core
        return SessionShell(
            store=core.store,
            statuses=core.statuses,
            new_step=self._maker_of(StepProcessor),
            messages=self._messages,
            runs=self.runs,
            users=self._users,
        )

    @cached_property
    def runs(self) -> SessionRuns:
        """Starts runs, for which it prepares their sessions."""
        return SessionRuns(
            registry=self._core.runs,
            store=self._core.store,
            clock=self._core.clock,
            has_open_steps=self._recorder.has_open_steps,
            recover_files=self._recorder.recover,
            end_changes=self._recorder.end_run,
            recover_agents=self._recover_agents,
            new_answer=lambda request: self._messages.answer(request, request.model, request.agent),
            finish_undo=lambda session_id: self.revert.get().cleanup(session_id),
            summarize=lambda session_id: self.summaries.get().refresh_last(session_id),
        )

    async def _recover_agents(self, session_id: str) -> int:
        """Recover the sessions of agents that a session started, as `recover_all` does."""
        return await self.sessions.recover_agents(session_id, self.runs.recover)

    @cached_property
    def _users(self) -> UserMessages:
        core, folder, project = self._core, self.folder, self.folder.project
        attachments = Attachments(
            tools=folder.tools,
            identifier=core.identifier,
            directory=project.directory,
            worktree=project.worktree,
            read_resource=folder.read_resource,
            find_symbol=folder.programs.find_symbol,
        )
        return UserMessages(
            store=core.store,
            agents=folder.agents,
            catalog=folder.catalog,
            attachments=attachments,
            identifier=core.identifier,
            clock=core.clock,
            hooks=folder.plugins.hooks,
            unread=self._unread.consume,
            say=folder.say_of_model,
        )

    @cached_property
    def _system(self) -> SystemPrompts:
        core, folder, project = self._core, self.folder, self.folder.project
        patterns = folder.config.settings.instructions or []
        return SystemPrompts(
            prompts=folder.prompts,
            directory=project.directory,
            worktree=project.worktree,
            is_git=project.vcs == "git",
            clock=core.clock,
            instructions=Instructions(
                config_dir=core.paths.config,
                home=core.paths.home,
                extra_dir=core.flags.config_dir,
                use_claude=not core.flags.is_claude_code_disabled,
                patterns=patterns,
                objection_to=lambda path: folder.leaving.objection(path),
            ),
            remote=RemoteInstructions([one for one in patterns if one.startswith(("http://", "https://"))]),
        )

    @cached_property
    def _requests(self) -> RequestBuilder:
        folder = self.folder
        return RequestBuilder(
            tools=folder.tools,
            find_mcp_turns=folder.mcp_turns,
            system=self._system,
            store=self._core.store,
            agents=folder.agents,
            prefixes=self._prefixes,
            hooks=folder.plugins.hooks,
            output_token_max=self._core.flags.output_token_max,
            searches_at_provider=folder.searches_at_provider,
            has_search=folder.has_search,
        )

    @cached_property
    def _budgets(self) -> Budgets:
        folder, cost = self.folder, self.folder.config.settings.limits.cost
        return Budgets(
            limits=BudgetLimits(session=_usd(cost.session), day=_usd(cost.day)),
            store=self._core.store,
            sessions=self.sessions,
            providers=folder.providers,
            spending=folder.spending,
            estimator=self._core.estimator,
            questions=folder.questions,
            trees=self._agent_trees,
        )

    @cached_property
    def _agent_trees(self) -> AgentTrees:
        if self._joined_trees is not None:
            return self._joined_trees
        limits = self.folder.config.settings.limits.agents
        return AgentTrees(
            AgentLimits(
                parallel=limits.parallel,
                depth=limits.depth,
                count=limits.count,
                requests=limits.requests,
                tokens=limits.tokens,
                minutes=limits.minutes,
            ),
            self.folder.commands_in_background,
        )

    async def _adopt_agent(
        self, session_id: str, words: str, context: "ToolContext", work: "asyncio.Task[ToolResult]"
    ) -> str:
        """Let the agent of a session continue in the background, and return its ID there. Raises ToolError."""
        from opencode_tui.engine.tool.process.background import BackgroundCall, BackgroundOutput, program_name
        from opencode_tui.schema.api.background import AGENT_TOOL

        folder = self.folder
        output = BackgroundOutput(folder.truncator.reserve, redactor=folder.programs.secrets.get().stream())
        call = BackgroundCall(AGENT_TOOL, words, context, output, work)
        adopted = await folder.commands_in_background.get().adopt(call)
        if not work.done():
            self._recorder.agents[session_id] = program_name(adopted)
            work.add_done_callback(lambda _: self._recorder.agents.pop(session_id, None))
        return adopted.id

    @service
    def _agent_worktrees(self):
        from opencode_tui.engine.session.agent_worktree import AgentWorktrees  # few agents have one

        folder = self.folder
        return AgentWorktrees(folder.project, folder.snapshots, self._core.environ)

    @asynccontextmanager
    async def _isolate(self, child: "SessionInfo") -> "AsyncGenerator[tuple[Prompter, AgentWorktree, EndCommands]]":
        """Make a worktree for an agent's session, and yield what runs its turns there; on leaving both are gone."""
        from opencode_tui.engine.services.isolated import IsolatedFolder

        async with self._agent_worktrees.get().made(child) as made:
            folder = IsolatedFolder(self.folder, made.project)
            try:
                prompts = SessionServices(self._core, folder, trees=self._agent_trees).prompts
                yield prompts, made, folder.background.close
            finally:
                await run_to_completion(folder.background.close())

    @cached_property
    def _prefixes(self) -> SessionPrefixes:
        core = self._core
        return SessionPrefixes(identifier=core.identifier, clock=core.clock, built_in=lru_cache(maxsize=1)(read_specs))

    @cached_property
    def _recorder(self) -> StepRecorder:
        core, folder = self._core, self.folder
        return StepRecorder(
            snapshots=folder.snapshots,
            store=core.store,
            identifier=core.identifier,
            retention=SnapshotRetention(snapshots=folder.snapshots, background=folder.background, clock=core.clock),
            lock=core.session_lock,
            find_log=self._find_change_log,
            follow=self._follow_commands,
        )

    def _follow_commands(self, files: Sequence[str]) -> None:
        """Report the files that commands changed to the language servers that run."""
        if (servers := self.folder.programs.languages.made) is not None:
            servers.files_changed([Path(file) for file in files])

    def _find_change_log(self) -> str:
        from opencode_tui.engine.snapshot.worktree_paths import find_store  # when a session is opened

        project = self.folder.project
        return find_store(self._core.paths, project_id=project.id, worktree=project.worktree).change_log

    @cached_property
    def _unread(self) -> Unread:
        folder = self.folder
        return Unread(
            background=folder.commands_in_background,
            languages=folder.programs.languages,
            secrets=folder.programs.secrets,
            left=self._find_left_agents,
        )

    async def _find_left_agents(self, session_id: str) -> list[str]:
        """Return what the model has to know about killed agents of a session, whose work is looked for once in this process."""
        if session_id in self._searched:
            return []
        self._searched.add(session_id)
        if not has_tasks(self._core.paths):  # one small folder
            return []
        from opencode_tui.engine.session.left_agents import LeftAgents

        return await LeftAgents(self._core.store, self._core.environ, self.folder.say).recover(session_id)

    @cached_property
    def _calls(self) -> ToolCalls:
        core, folder, project = self._core, self.folder, self.folder.project
        return ToolCalls(
            store=core.store,
            tools=folder.tools,
            permissions=folder.permissions,
            results=ResultFilter(folder.truncator, folder.programs.secrets),
            clock=core.clock,
            questions=folder.questions,
            hooks=folder.plugins.hooks,
            unread=self._unread.consume,
            directory=project.directory,
            worktree=project.worktree,
            origins=project.origins,
        )

    def _maker_of(self, kind: "type[_Step]") -> "Callable[[AssistantMessage], _Step]":
        """Return what makes the step of a message."""
        core = self._core
        return partial(
            kind,
            store=core.store,
            statuses=core.statuses,
            identifier=core.identifier,
            clock=core.clock,
            calls=self._calls,
            estimator=core.estimator,
            recorder=self._recorder,
            hooks=self.folder.plugins.hooks,
        )

    @cached_property
    def _messages(self) -> NewMessages:
        core, project = self._core, self.folder.project
        return NewMessages(core.identifier, core.clock, project.directory, project.worktree)

    @cached_property
    def _keeper(self) -> CompactionPolicy:
        return CompactionPolicy(
            store=self._core.store,
            estimator=self._core.estimator,
            rules=CompactionRules(self.folder.overflow, self.folder.config.settings.compaction.prepare),
            compaction=self._compaction,
            prepared=self._prepared_summaries,
            questions=self.folder.questions,
            report_too_large=self._report_too_large,
        )

    def _report_too_large(self, session_id: str, model: "Model", size: int) -> None:
        """Say once in a session that a server on this machine has too small a context."""
        key = (session_id, str(model.ref))
        line = "" if key in self._too_large else self.folder.catalog.describe_too_large(model, size)
        if line:
            self._too_large.add(key)
            self.folder.say_of_model(session_id, line)

    @cached_property
    def _loop(self) -> SessionLoop:
        core, folder, experimental = self._core, self.folder, self.folder.config.settings.experimental
        titles = SessionTitles(
            store=core.store,
            agents=folder.agents,
            catalog=folder.catalog,
            background=folder.background,
            budgets=self._budgets,
        )
        monitor = PrefixMonitor(store=core.store, clock=core.clock)
        subagents = partial(
            SessionSubagents,
            store=core.store,
            sessions=self.sessions,
            agents=folder.agents,
            bus=core.bus,
            trees=self._agent_trees,
            adopt=self._adopt_agent,
            isolate=self._isolate,
            worktrees=self._agent_worktrees,
            leaving=self.folder.leaving,
            primary_tools=experimental.primary_tools or () if experimental else (),
        )
        return SessionLoop(
            store=core.store,
            statuses=core.statuses,
            steps=LoopSteps(
                new_step=self._maker_of(StepProcessor),
                messages=self._messages,
                requests=self._requests,
                catalog=folder.catalog,
                keeper=self._keeper,
                budgets=self._budgets,
                monitor=monitor,
                subagents=subagents,
                say=folder.say_of_model,
            ),
            messages=self._messages,
            titles=titles,
            keeper=self._keeper,
            monitor=monitor,
            pruning=self.pruning,
            turn_end=TurnEnd(
                store=core.store,
                agent=self._requests.agent,
                checks=self._checks,
                turn_errors=self._make_turn_errors() if folder.programs.checks_turns else None,
            ),
            continues_after_rejection=bool(experimental and experimental.continue_loop_on_deny),
        )

    def _make_turn_errors(self) -> "TurnErrors":
        from opencode_tui.engine.lsp.change import EditReport
        from opencode_tui.engine.session.turn_errors import TurnErrors
        from opencode_tui.schema.model import LANGUAGES_TITLE

        folder = self.folder

        async def check(paths: Sequence[Path], session_id: str) -> EditReport:
            servers = folder.programs.languages.made
            if servers is None:
                return EditReport()
            found, secrets = await servers.after_turn(paths, session_id), folder.programs.secrets.get()
            names = [secrets.redact(one) for one in found.unchecked]
            return EditReport(secrets.redact(found.text), secrets.redact_value(found.diagnostics), names)

        return TurnErrors(
            store=self._core.store, messages=self._messages, check=check, say=partial(folder.say, title=LANGUAGES_TITLE)
        )

    @cached_property
    def _slash_commands(self) -> SessionCommands:
        core, folder, project = self._core, self.folder, self.folder.project
        shell = SnippetShell(
            shell=self.folder.config.settings.shell,
            environ=core.environ,
            home=core.paths.home,
            folder=project.directory,
            reserve_output=folder.truncator.reserve,
            secrets=folder.programs.secrets,
            sandbox=folder.programs.sandbox,
            limits=folder.programs.limits,
        )
        return SessionCommands(
            commands=folder.commands,
            agents=folder.agents,
            snippets=Snippets(shell, core.store, folder.agents, folder.permissions, project.worktree, project.origins),
            place=folder.references,
            hooks=folder.plugins.hooks,
            publish=core.publisher.publish,
            on_init=partial(core.projects.mark_initialized, project),
            read_prompt=folder.read_prompt,
        )

    @service
    def summaries(self):
        """Summarizes changes of files."""
        from opencode_tui.engine.session.revert.summary import SessionSummaries

        return SessionSummaries(
            store=self._core.store,
            snapshots=self.folder.snapshots,
            publish=self._core.publisher.publish,
            leaving=self.folder.leaving,
        )

    @service
    def revert(self):
        """Undoes and redoes."""
        from opencode_tui.engine.session.revert.cleanup import Cleanup
        from opencode_tui.engine.session.revert.files import FileRevert
        from opencode_tui.engine.session.revert.revert import SessionRevert

        core = self._core
        return SessionRevert(
            store=core.store,
            lock=core.session_lock,
            files=FileRevert(
                store=core.store,
                snapshots=self.folder.snapshots.get(),
                leaving=self.folder.leaving,
                background=self.folder.commands_in_background,
            ),
            summaries=self.summaries.get(),
            cleanup=Cleanup(store=core.store, runs=core.runs, locks=core.locks),
            recover_session=self.runs.recover,
            new_id=core.identifier.ascending,
        )

    @service
    def forks(self):
        """Forks sessions."""
        from opencode_tui.engine.session.fork.fork import ForkRange, SessionForks
        from opencode_tui.engine.session.fork.worktree import ForkWorktrees

        core, folder = self._core, self.folder
        return SessionForks(
            store=core.store,
            sessions=self.sessions,
            source=ForkRange(
                store=core.store,
                storage=core.storage,
                runs=core.runs,
                statuses=core.statuses,
                locks=core.locks,
                clock=core.clock,
            ),
            copies=core.copies,
            todos=folder.todos,
            locks=core.locks,
            worktrees=ForkWorktrees(project=folder.project, snapshots=folder.snapshots, environ=core.environ),
            identifier=core.identifier,
            clock=core.clock,
            project=folder.project,
        )

    @service
    def review(self):
        """Reads and commits the changes of the work tree."""
        from opencode_tui.engine.review.review import Review

        project, sandbox = self.folder.project, self.folder.programs.sandbox
        return Review(
            project.repository,
            project.directory,
            self._core.environ,
            Lazy(self._make_message_writer),
            self.folder.leaving,
            lambda: sandbox.get().alone(),
        )

    def _make_message_writer(self) -> "MessageWriter":
        from opencode_tui.engine.review.message import MessageWriter  # a model is asked for few commits

        return MessageWriter(store=self._core.store, catalog=self.folder.catalog, budgets=self._budgets)

    @service
    def trash(self):
        """Deletes and restores sessions."""
        from opencode_tui.engine.session.trash import SessionTrash

        core = self._core
        return SessionTrash(
            trash=core.trash.get(),
            sessions=self.sessions,
            store=core.store,
            storage=core.storage,
            runs=core.runs,
            locks=core.locks,
            publisher=core.publisher,
            paths=core.paths,
            background=self.folder.commands_in_background,
        )

    @service
    def _checks(self):
        from opencode_tui.engine.session.until import SessionChecks  # few sessions have a check

        return SessionChecks(
            store=self._core.store,
            statuses=self._core.statuses,
            new_step=self._maker_of(StepProcessor),
            messages=self._messages,
            rules=self._requests.rules,
            clock=self._core.clock,
        )

    @service
    def until(self):
        """Sets and runs the checks that follow turns."""
        from opencode_tui.engine.session.until import SessionUntil

        return SessionUntil(
            store=self._core.store,
            checks=self._checks.get(),
            runs=self.runs,
            users=self._users,
            go_on=self._loop.run,
        )

    @service
    def _sums(self):
        from opencode_tui.storage.session_sums import SessionSums

        return SessionSums(self._core.storage, self._core.index, self.folder.project.id)

    @service
    def _summary_requests(self):
        from opencode_tui.engine.session.compaction.summary import SummaryRequests

        folder = self.folder
        return SummaryRequests(
            agents=folder.agents,
            catalog=folder.catalog,
            hooks=folder.plugins.hooks,
            estimator=self._core.estimator,
            rules=folder.overflow,
        )

    @service
    def _prepared_summaries(self):
        from opencode_tui.engine.session.compaction.summary import PrecomputedSummaries

        return PrecomputedSummaries(
            requests=self._summary_requests.get(),
            background=self.folder.background,
            store=self._core.store,
            budgets=self._budgets,
        )

    @service
    def ledgers(self):
        """What compactions keep word for word."""
        from opencode_tui.engine.session.compaction.session_ledgers import SessionLedgers

        core, folder, requests = self._core, self.folder, self._summary_requests
        return SessionLedgers(
            store=core.store,
            lock=core.session_lock,
            todos=folder.todos,
            commands=folder.commands_in_background,
            rules=folder.overflow,
            place=self._ledger_place,
            model=lambda user: requests.get().model(user, user.model),
        )

    def _ledger_place(self):
        """Return the folder of ledgers, and its branch as it is now; blocks."""
        from opencode_tui.engine.session.compaction.ledger import LedgerPlace

        project = self.folder.project
        main = None if project.repository is None else project.repository.main_worktree
        return LedgerPlace(project.worktree, project.branch, None if main == project.worktree else main)

    @service
    def _compaction(self):
        from opencode_tui.engine.session.compaction.compaction import SessionCompaction, SummaryStep

        core = self._core
        return SessionCompaction(
            store=core.store,
            new_step=self._maker_of(SummaryStep),
            messages=self._messages,
            requests=self._summary_requests.get(),
            ledgers=self.ledgers.get(),
            providers=self.folder.providers,
            budgets=self._budgets,
            publish=core.publisher.publish,
        )

    @service
    def compaction(self):
        """Compacts when the user asks for it."""
        from opencode_tui.engine.session.compaction.compaction import ManualCompaction

        core = self._core
        return ManualCompaction(
            compaction=self._compaction.get(),
            ledgers=self.ledgers.get(),
            requests=self._summary_requests.get(),
            store=core.store,
            runs=self.runs,
            go_on=self._loop.run,
            estimator=core.estimator,
        )

    @property
    def has_share_server(self) -> bool:
        """Whether sessions of the folder can be shared."""
        settings = self.folder.config.settings
        return settings.share != "disabled" and settings.enterprise is not None and settings.enterprise.url is not None

    @service
    def shares(self):
        """Publishes sessions."""
        from opencode_tui.engine.share.record import KnownServers
        from opencode_tui.engine.share.shares import ShareRules, Shares
        from opencode_tui.redaction.session import Person, Redactor

        core, folder, settings = self._core, self.folder, self.folder.config.settings
        person = Person.of(core.environ, str(core.paths.home))
        url = settings.enterprise.url if settings.enterprise else None
        shares = Shares(
            rules=ShareRules(url.rstrip("/") if url else None, settings.share or "manual"),
            store=core.store,
            storage=core.storage,
            known=KnownServers(core.paths.state),
            new_redactor=lambda: Redactor(person, known=folder.programs.secrets.get().redact),
            find_models=lambda refs: [
                {"id": one.model_id, "providerID": one.provider_id, "name": one.model_id} for one in refs
            ],
        )
        folder.background.at_close(shares.close)
        return shares

    @service
    def pruning(self):
        """Leaves old outputs out of requests."""
        from opencode_tui.engine.session.compaction.prune import SessionPruning

        core, settings = self._core, self.folder.config.settings.compaction
        return SessionPruning(
            store=core.store,
            lock=core.session_lock,
            clock=core.clock,
            is_automatic=settings.prune and not core.flags.is_prune_disabled,
        )

    @service
    def side_questions(self):
        """Answers questions about a session outside its turns."""
        from opencode_tui.engine.session.context.side_question import SideQuestions

        return SideQuestions(self.context.get(), self._core.store, self._budgets)

    @service
    def context(self):
        """Shows what the next request contains."""
        from opencode_tui.engine.session.context.report import SessionContext

        core, folder = self._core, self.folder
        return SessionContext(
            store=core.store,
            agents=folder.agents,
            requests=self._requests,
            catalog=folder.catalog,
            estimator=core.estimator,
            rules=self.folder.overflow,
            budgets=self._budgets,
        )
