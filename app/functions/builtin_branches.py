"""``agents:agentRegenerate``, ``agentEditMessage``, ``agentSelectBranch``, ``agentFork``.

Nothing that was said is lost by any of them: another answer and another question are branches,
and what they were made from stays as it is, also while it runs or waits for a person.  What was
decided there counts for nothing in the branch: its run asks for itself.

All check like a start: the agent's access, the owner of the thread, the list of who may use the
agent.  A thread of somebody else is answered like a missing one.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import ServerFunction, action, mutation
from app.domain.branching import Asked, Conversation, with_text
from app.domain.errors import InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.message import Part
from app.domain.output_policy import own_schema_of
from app.domain.ports import GovernanceReader, Ids
from app.domain.ports.branches import BranchStore, NewBranch, NewFork
from app.domain.storable import Json
from app.functions.agent_runs import AgentCard, schema_declared_by
from app.functions.builtin_reads import Key
from app.models.catalog import check_allowed
from app.threads.access import check_may_start
from app.threads.governing import check_may_use
from app.threads.starting import Prompt, checked_text, checked_title, start_again

MessageId = Annotated[str, Field(min_length=1, max_length=2048)]


class BranchFunctions:
    """The functions, over the agents that were loaded."""

    def __init__(
        self,
        store: BranchStore,
        ids: Ids,
        agents: Mapping[str, AgentCard],
        governance: GovernanceReader,
    ) -> None:
        self._store = store
        self._ids = ids
        self._agents = agents
        self._governance = governance

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            mutation(name="agent_regenerate")(self.regenerate),
            mutation(name="agent_edit_message")(self.edit),
            action(name="agent_select_branch", idempotent=True)(self.select),
            mutation(name="agent_fork")(self.fork),
        ]

    async def regenerate(
        self,
        ctx: MutationContext,
        *,
        key: Key,
        message_id: MessageId | None = None,
        model: str | None = None,
    ) -> dict[str, JsonValue]:
        """Answer again, in a branch: the run ``id`` is asked what this message's run was asked.

        Without a message it is the last run of the thread; a root's key means what is shown.
        """
        conversation = await self._conversation(key, ctx.auth)
        asked = await self._asked(conversation, message_id)
        return await self._branch(ctx, conversation, asked, asked.parts, model)

    async def edit(
        self,
        ctx: MutationContext,
        *,
        key: Key,
        message_id: MessageId,
        input: str,  # noqa: A002  # the wire's word
    ) -> dict[str, JsonValue]:
        """Ask something else instead, in a branch: the message has to have begun a run."""
        conversation = await self._conversation(key, ctx.auth)
        asked = await self._asked(conversation, message_id)
        if asked.message_id != message_id:
            raise InvalidArgument(
                "messageId: only what a user said to begin a run can be edited; "
                f"that of this message's run is {asked.message_id}"
            )
        parts = with_text(asked.parts, checked_text(input))
        return await self._branch(ctx, conversation, asked, parts, None)

    async def select(self, ctx: ActionContext, *, key: Key, branch: Key) -> None:
        """Show another thread of the conversation, in every tab."""
        conversation = await self._conversation(key, ctx.auth)
        chosen = await self._store.conversation(branch)
        await self._check(conversation.agent, ctx.auth)
        if (
            chosen is None
            or chosen.root_id != conversation.root_id
            or not await self._store.select(conversation.root_id, chosen.thread_id)
        ):
            raise NotFound("no such branch")

    async def fork(
        self,
        ctx: MutationContext,
        *,
        key: Key,
        message_id: MessageId | None = None,
        edge: Literal["after", "before"] = "after",
        title: str | None = None,
    ) -> dict[str, JsonValue]:
        """Begin a conversation of the caller's own with copies, up to a message or all."""
        conversation = await self._conversation(key, ctx.auth)
        await self._check(conversation.agent, ctx.auth)
        if message_id is None and edge == "before":
            raise InvalidArgument("edge: before which message? give messageId, too")
        source = await self._store.thread_of(conversation, message_id)
        if source is None:
            raise NotFound("no such message")
        new = NewFork(
            source_id=source,
            thread_id=self._ids.new(),
            owner=ctx.auth.user_id,
            message_id=message_id,
            before=edge == "before",
            title=None if title is None else checked_title(title),
        )
        await ctx.branches.fork(new)
        return {"key": new.thread_id}

    async def _conversation(self, key: str, caller: Identity) -> Conversation:
        """Return the conversation that the caller means.

        Raises:
            NotFound: there is none for him; one sentence for all that may mean.
        """
        found = await self._store.conversation(key)
        if found is None or not caller.may_read(found.owner):
            raise NotFound("no such thread")
        return found

    async def _asked(self, conversation: Conversation, message_id: str | None) -> Asked:
        asked = await self._store.asked(conversation, message_id)
        if asked is None:
            missing = "the thread has no run yet" if message_id is None else "no such message"
            raise NotFound(missing)
        return asked

    async def _branch(
        self,
        ctx: MutationContext,
        conversation: Conversation,
        asked: Asked,
        parts: Sequence[Part],
        model: str | None,
    ) -> dict[str, JsonValue]:
        again = asked.policy.get("model") if model is None else model
        turns = asked.policy.get("maxTurns")
        card = await self._startable(asked.agent, ctx.auth, again)
        prompt = Prompt(
            agent=asked.agent,
            text="",
            owner=conversation.owner,
            author=ctx.auth.user_id,
            model=again if isinstance(again, str) else None,
            max_turns=turns if isinstance(turns, int) else None,
            output_schema=own_schema_of(asked.policy),
            declared_output=schema_declared_by(card),
            dedupe=ctx.dedupe,
            agent_version=card.version,
            timeout=card.timeout,
        )
        start = start_again(prompt, parts, self._ids)
        new = NewBranch(conversation.root_id, asked.thread_id, asked.shared, start)
        started = await ctx.branches.branch(new)
        return {"id": started.run_id, "key": started.thread_key}

    async def _startable(self, agent: str, caller: Identity, model: Json) -> AgentCard:
        """Return the agent that the caller may start, with this model, or raise."""
        card = self._agents.get(agent)
        check_may_start(agent, card.access if card else None, caller)
        governed = await self._governance.governed([agent])
        check_may_use(agent, governed.of(agent), caller)
        if card is None:
            raise NotFound(f"no agent {agent!r}")
        if isinstance(model, str):
            check_allowed(model, governed.models, coded=card.model)
        return card

    async def _check(self, agent: str, caller: Identity) -> None:
        """Let the caller do what starts nothing, or raise; admins need no access for it."""
        card = self._agents.get(agent)
        if not caller.is_admin:
            check_may_start(agent, card.access if card else None, caller)
        governed = await self._governance.governed([agent])
        check_may_use(agent, governed.of(agent), caller)
