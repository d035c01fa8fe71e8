"""What a run goes by: the code, over it what operators published, over that the start's own words.

A run carries the version that was in force when it was asked for, and a version never changes.  So
a resumed run reads what it began with, and what is published meanwhile is for the next prompt.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.authoring.agent import Agent, Instructions
from app.authoring.tools import Offer
from app.domain.override import AS_CODED, Override
from app.domain.ports import OverrideReader
from app.domain.run import Run
from app.engine.recorder import outlast
from app.models.resolve import ModelSource

log = logging.getLogger(__name__)

_REMEMBERED: Final = 256


class NothingSaid:
    """Implements ``OverrideReader`` where nobody has a say but the code."""

    async def override(self, agent: str, version: int) -> Override | None:
        """See ``OverrideReader.override``."""
        del agent, version
        return None


@dataclass(slots=True)
class Overrides:
    """Reads published versions, each once while it is remembered."""

    reader: OverrideReader = field(default_factory=NothingSaid)
    _known: OrderedDict[tuple[str, int], Override] = field(
        default_factory=OrderedDict[tuple[str, int], Override], init=False
    )

    async def of(self, run: Run) -> Override:
        """Return what this run was asked under; waits while Postgres is away."""
        if run.override is None:
            return AS_CODED
        key = run.agent, run.override
        known = self._known.get(key)
        if known is None:
            known = await outlast("reading an override", lambda: self.reader.override(*key))
            if known is None:
                log.warning("version %d over the code of %s is gone", run.override, run.agent)
                return AS_CODED
            self._known[key] = known
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known


@dataclass(frozen=True, slots=True)
class Effective:
    """What counts for one run."""

    model: ModelSource
    instructions: Instructions
    max_turns: int
    always_ask: bool
    tools: Mapping[str, Offer]

    @classmethod
    def of(
        cls, agent: Agent, tools: Mapping[str, Offer], override: Override, run: Run
    ) -> "Effective":
        """Return it.

        Args:
            agent: the code.
            tools: of the agent, bound.
            override: what operators say over it.
            run: may have been started with a model and a limit of its own.
        """
        chosen, limit = run.policy.get("model"), run.policy.get("maxTurns")
        over = override.instructions
        return cls(
            model=chosen if isinstance(chosen, str) else override.model or agent.model,
            instructions=agent.instructions if over is None else over,
            max_turns=limit if isinstance(limit, int) else override.max_turns or agent.max_turns,
            always_ask=(override.autonomy or agent.autonomy) == "always_ask",
            tools={name: it for name, it in tools.items() if name not in override.tools_off},
        )
