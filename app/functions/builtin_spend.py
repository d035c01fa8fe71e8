"""``agents:adminSpend``: what agents use, by day, and the hours of people that they save (IMP-17).

Tokens are those of the runs.  Dollars come from the answers, which say by which model they are;
hours are completed runs times the minutes that ``adminSetMinutes`` was told.  A month is summed up,
so each write does not ask anew: who watches asks again in a while.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from pydantic import Field, JsonValue

from app.authoring.agent import Agent
from app.authoring.contexts import QueryContext
from app.authoring.functions import FunctionKind, ServerFunction
from app.domain.override import Governance
from app.domain.ports import GovernanceReader
from app.domain.run import Usage
from app.domain.tables import GOVERNANCE
from app.functions.builtin_overrides import may_view
from app.functions.ports import AdminReader
from app.models.prices import price_of
from app.threads.governing import Permission, Permissions

DAYS = 30
_MOST_DAYS = 366
_HOUR = 60
_SUMMED = ("runs", "completed", "input_tokens", "output_tokens")


@dataclass(slots=True)
class _Costs:
    """Dollars of one agent."""

    by_day: dict[date, float] = field(default_factory=dict)
    unpriced: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count what a model used on a day."""
        usage = Usage(
            input_tokens=row["input_tokens"],
            output_tokens=row["output_tokens"],
            cache_read_tokens=row["cache_read_tokens"],
            cache_write_tokens=row["cache_write_tokens"],
        )
        price = price_of(row["model"], usage)
        if price is None:
            self.unpriced.add(row["model"])
        else:
            self.by_day[row["day"]] = self.by_day.get(row["day"], 0.0) + price


class SpendFunctions:
    """The query, over the agents that were loaded."""

    def __init__(
        self,
        admin: AdminReader,
        governance: GovernanceReader,
        agents: Mapping[str, Agent],
        permissions: Permissions,
    ) -> None:
        self._admin = admin
        self._governance = governance
        self._agents = agents
        self._permissions = permissions

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declaration."""
        return [
            ServerFunction(
                self.spend,
                kind=FunctionKind.QUERY,
                name="admin_spend",
                reads=(GOVERNANCE,),
            )
        ]

    async def spend(
        self, ctx: QueryContext, *, days: Annotated[int, Field(ge=1, le=_MOST_DAYS)] = DAYS
    ) -> dict[str, JsonValue]:
        """Return tokens, dollars and saved hours of each agent, by day."""
        self._permissions.check(ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        governed = await self._governance.governed()
        spent: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in await self._admin.spent(days):
            spent[row["agent"]].append(row)
        costs: dict[str, _Costs] = defaultdict(_Costs)
        for row in await self._admin.spent_on_models(days):
            costs[row["agent"]].add(row)
        return {
            "days": days,
            "agents": [
                {
                    "agent": slug,
                    "name": self._agents[slug].name if slug in self._agents else slug,
                    **_agent(spent[slug], costs[slug], governed.of(slug)),
                }
                for slug in dict.fromkeys([*self._agents, *sorted(spent)])
            ],
            "may": may_view(self._permissions, ctx.auth),
        }


def _agent(
    rows: Sequence[Mapping[str, Any]], costs: _Costs, governance: Governance
) -> dict[str, JsonValue]:
    sums = {name: sum(row[name] for row in rows) for name in _SUMMED}
    minutes = governance.manual_minutes
    return {
        "days": [_day(row, costs.by_day.get(row["day"])) for row in rows],
        "runs": sums["runs"],
        "completed": sums["completed"],
        "inputTokens": sums["input_tokens"],
        "outputTokens": sums["output_tokens"],
        "costUsd": sum(costs.by_day.values()) if costs.by_day else None,
        "unpriced": sorted(costs.unpriced),
        "manualMinutes": minutes,
        "hoursSaved": None if minutes is None else sums["completed"] * minutes / _HOUR,
    }


def _day(row: Mapping[str, Any], cost: float | None) -> JsonValue:
    return {
        "day": row["day"].isoformat(),
        "runs": row["runs"],
        "completed": row["completed"],
        "inputTokens": row["input_tokens"],
        "outputTokens": row["output_tokens"],
        "costUsd": cost,
    }
