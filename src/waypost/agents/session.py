"""One run of an agent, step by step."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from waypost.agents import delegation, payload
from waypost.agents.enabled import record_failure
from waypost.agents.outcome import RunResult, Stopped
from waypost.agents.payload import UPDATE_PAYLOAD
from waypost.agents.tools import Outcome, RunContext
from waypost.chat.port import ChatReply
from waypost.chat.port import ToolCall as RequestedCall
from waypost.content.attempts import attempt
from waypost.content.channel import ContentChannel
from waypost.content.entries import ToolCall
from waypost.content.policy import SHOW_EVERYTHING
from waypost.content.sharing import SharedContent
from waypost.content.tool_schemas import openai_tools
from waypost.content.tools import ToolExecutor
from waypost.exceptions import Conflict, InvalidInput, ProviderError, WaypostError
from waypost.model import Action, StageMemory, StageType

if TYPE_CHECKING:
    from waypost.agents.loop import AgentLoop
    from waypost.memory import MemoryManager

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Session:
    """The state of one run."""

    def __init__(
        self,
        agent: AgentLoop,
        goal: str,
        shared: RunContext,
        *,
        task_id: str | None = None,
        project_id: str | None = None,
        parent: Session | None = None,
        content: SharedContent | None = None,
        with_payload: bool = False,
    ) -> None:
        self.agent = agent
        self.with_payload = with_payload
        self.goal = goal
        self.shared = shared
        self.task_id = task_id
        self.project_id = project_id
        self.parent = parent
        self.settings = agent.configuration
        self.content = content.own if content else agent.memory.content(shared.run_id)
        self.recorder = agent.memory.recorder(shared.run_id) if self.remembers else None
        self.channel = self._channel()
        usable = content.store if content else self.content
        self.memory_tools = ToolExecutor(usable, self.long_term)
        self.actions: list[Action] = []
        self.problems: list[str] = []
        self.degraded: list[str] = []
        self.merged: dict[str, str] = {}
        self.stage: StageMemory | None = None
        self.tokens_in = self.tokens_out = 0

    @property
    def remembers(self) -> bool:
        return self.settings.enable_memory

    @property
    def long_term(self) -> MemoryManager | None:
        """The memory of earlier runs: none when it is off, or is that of a parent that isolates."""
        memory, parent = self.agent.memory, self.parent
        if not self.remembers:
            return None
        if parent is None or memory.agent_id != parent.agent.memory.agent_id:
            return memory
        return memory if parent.settings.share_memory_with_sub_agents and parent.long_term else None

    def _channel(self) -> ContentChannel:
        settings = self.settings
        if not self.remembers:
            return ContentChannel(None, policy=SHOW_EVERYTHING)
        return ContentChannel(
            self.content,
            policy=settings.policy,
            recorder=self.recorder,
            compaction_model=self.agent.chat if settings.use_compaction_llm else None,
            compaction_prompt=settings.compaction_prompt,
            goal=self.goal,
            memory_seconds=settings.memory_seconds,
        )

    async def run(self) -> RunResult:
        await self._begin()
        stopped, answer = await self._steps()
        await self._finish(answer, stopped)
        return RunResult(
            answer=answer,
            stopped=stopped,
            run_id=self.shared.run_id,
            payload=self.shared.payload,
            steps=self.channel.conversation.step,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            problems=tuple(self.problems),
            degraded=tuple(self.degraded + self.channel.failures),
            merged=self.merged,
        )

    async def _begin(self) -> None:
        await self._start_record()
        await self._open_stage()
        self.channel.add_system(self.settings.instructions)
        parts = [self.goal]
        if self.with_payload:
            parts.append("Payload:\n" + json.dumps(self.shared.payload, ensure_ascii=False))
        known = await self._known()
        self.channel.add_user("\n\n".join([*parts, known] if known else parts))

    async def _start_record(self) -> None:
        if self.recorder:
            facts = {"model": self.agent.chat.name, "tools": self._offered()}
            starting = self.recorder.start(
                self.settings.settings() | facts,
                parent_run_id=self.parent.shared.run_id if self.parent else None,
                task_id=self.task_id,
            )
            await self._attempt(starting, "run not recorded")

    async def _end_record(self, answer: str, stopped: Stopped) -> None:
        if self.recorder:
            facts = {"stopped": stopped.value, "problems": self.problems, "text": answer}
            step = self.channel.conversation.step
            await self._attempt(self.recorder.record("answer", step, facts), "answer not recorded")
            await self._attempt(self.recorder.end(), "end of the run not recorded")

    async def _open_stage(self) -> None:
        """With a task, work in a stage of it: the open one, or one of this run's own."""
        wanted = self.settings.stage
        if self.task_id is None or wanted is None or not self.remembers or self.parent:
            return
        self.stage = await self._attempt(self._stage_of(self.task_id, wanted), "no stage")

    async def _stage_of(self, task_id: str, wanted: StageType) -> StageMemory | None:
        """A new stage of the task, which is started when it does not exist; None if one is open."""
        memory = self.agent.memory
        try:
            await memory.start_task(self.goal, task_id=task_id, project_id=self.project_id)
        except Conflict:
            logger.debug("task %s goes on under the goal it was started with", task_id)
        if await memory.stages.current_stage(task_id) is not None:
            return None
        return await memory.start_stage(task_id, wanted)

    async def _close_stage(self) -> None:
        if self.stage is not None and self.task_id is not None:
            closing = self.agent.memory.complete_stage(self.task_id, self.stage.stage_id)
            await self._attempt(closing, "stage not completed")

    async def _known(self) -> str:
        """What long-term memory holds about the goal; empty when it is off, silent or empty."""
        if self.long_term is None:
            return ""
        package = await self._attempt(
            self.long_term.get_relevant_context(
                self.goal,
                self.task_id,
                self.settings.context_tokens,
                project_id=self.project_id,
            ),
            "no context",
        )
        return package.text if package and package.items else ""

    async def _steps(self) -> tuple[Stopped, str]:
        said = ""
        for _ in range(self.settings.max_steps):
            limit = self.settings.max_tokens
            if limit is not None and self.tokens_in + self.tokens_out >= limit:
                return Stopped.TOKEN_LIMIT, said
            try:
                reply = await self._ask_model()
            except ProviderError as error:
                self.problems.append(f"model: {error}")
                return Stopped.MODEL_FAILED, said
            except InvalidInput as error:
                self.problems.append(f"prompt: {error}")
                return Stopped.OVER_BUDGET, said
            said = reply.text or said
            if not reply.tool_calls:
                await self.channel.add_assistant(reply.text)
                return Stopped.ANSWERED, reply.text
            await self._run_calls(reply)
        return Stopped.STEP_LIMIT, said

    async def _ask_model(self) -> ChatReply:
        prompt = await self.channel.prompt()
        reply = await self.agent.chat.complete(
            prompt.messages,
            max_tokens=self.settings.reply_tokens,
            temperature=self.settings.temperature,
            tools=self._offered() or None,
        )
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        return reply

    def _offered(self) -> list[dict[str, Any]]:
        offered = [tool.schema() for tool in self.agent.tools.values()]
        if self.with_payload:
            offered.append(payload.SCHEMA)
        offered += delegation.schemas(self.agent.sub_agents)
        if self.remembers:
            offered += openai_tools(with_memory=self.long_term is not None)
        return offered

    async def _run_calls(self, reply: ChatReply) -> None:
        """Run every call of a message; each gets its result, whatever happens."""
        asked = [ToolCall(call.id, call.name, _readable(call)) for call in reply.tool_calls]
        calls = await self.channel.add_assistant(reply.text, asked)
        for call, requested in zip(calls, reply.tool_calls, strict=True):
            if self.remembers and call.name in self.memory_tools.names:
                await self._use_memory(call, requested)
            else:
                await self._use_tool(call, requested)

    async def _use_memory(self, call: ToolCall, requested: RequestedCall) -> None:
        """Content that is opened again is cited by its own id; other answers are results."""
        answer = await self.memory_tools.run(call.name, requested.arguments)
        flags: dict[str, Any] = {"source": call.name, "is_error": answer.is_error}
        if call.name == "retrieve_from_memory":
            self.channel.add_view(call.id, answer.text, opened=answer.content_id, **flags)
        else:
            await self.channel.add_result(call.id, answer.text, **flags)

    async def _use_tool(self, call: ToolCall, requested: RequestedCall) -> None:
        outcome = await self._outcome(call, requested)
        tool = self.agent.tools.get(call.name)
        try:
            await self.channel.add_result(
                call.id,
                "" if outcome.content is None else outcome.content,
                source=call.name,
                media_type=tool.media_type if tool else "",
                is_error=outcome.is_error,
                pinned=tool.pinned if tool else False,
            )
        except InvalidInput as error:
            outcome = Outcome(f"Error: the result of {call.name} cannot be read: {error}", True)
            await self.channel.add_result(call.id, outcome.content, source=call.name, is_error=True)
        await self._note(call, outcome)

    async def _outcome(self, call: ToolCall, requested: RequestedCall) -> Outcome:
        if call.name == UPDATE_PAYLOAD and self.with_payload:
            return payload.update(self.shared.payload, call.arguments)
        name = delegation.asked(call.name, self.agent.sub_agents)
        if name is not None:
            return await self._delegated(name, call.arguments.get("task"))
        tool = self.agent.tools.get(call.name)
        if tool is None:
            known = ", ".join(one["function"]["name"] for one in self._offered())
            return Outcome(f"Error: there is no tool {call.name!r}; there are {known}", True)
        return await tool.run(requested.arguments, self.shared, seconds=self.settings.tool_seconds)

    async def _delegated(self, name: str, task: Any) -> Outcome:
        try:
            return await delegation.ask(self, name, task)
        except WaypostError as error:
            self.degraded.append(str(error))
            return Outcome(f"Error: {name} could not be given content: {error}", True)

    async def _note(self, call: ToolCall, outcome: Outcome) -> None:
        text = outcome.content if isinstance(outcome.content, str) else None
        short = text[:500] if text else None
        self.actions.append(
            Action(
                name=call.name,
                arguments=dict(call.arguments),
                result=short,
                success=not outcome.is_error,
            )
        )
        if outcome.is_error:
            self.problems.append(f"{call.name}: {short}")
            await self._record_failure(call.name, (short or "").removeprefix("Error: "))

    async def _record_failure(self, tool: str, message: str) -> None:
        if self.long_term is not None:
            where = {"tool": tool, "task_id": self.task_id}
            recording = record_failure(self.long_term, message, doing=self.goal, **where)
            await self._attempt(recording, "error not recorded")

    async def _finish(self, answer: str, stopped: Stopped) -> None:
        await self._end_record(answer, stopped)
        if not self.remembers or self.parent:
            return
        await self._attempt(
            self.agent.memory.add_interaction(
                self.goal,
                answer or None,
                outcome=None if answer else stopped.value,
                actions=tuple(self.actions),
                success=stopped is Stopped.ANSWERED,
                run_id=self.shared.run_id,
                task_id=self.task_id,
                project_id=self.project_id,
            ),
            "not stored",
        )
        await self._close_stage()

    async def _attempt(self, work: Awaitable[T], what: str) -> T | None:
        """The memory helps but never stops a run; what it could not do is reported."""
        return await attempt(work, self.degraded, what, seconds=self.settings.memory_seconds)


def _readable(call: RequestedCall) -> dict[str, Any]:
    """The arguments as an object; what is none is kept as text, so that the message stays valid."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {"unreadable": call.arguments}
    return value if isinstance(value, dict) else {"value": value}
