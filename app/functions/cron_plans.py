"""What crons declare, checked against the agents and functions that there are.

Everything that could go wrong at a slot and can be known now ends the start: nobody is there at
three in the morning to hear that a run takes no ``threadKey``.
"""

from collections.abc import Iterable, Mapping, Sequence

from app.authoring.agent_reference import slug_of
from app.authoring.crons import Cron
from app.authoring.functions import ServerFunction
from app.authoring.scheduler import is_function, run_request
from app.domain.cron import CronPlan
from app.domain.errors import ChatError, DeclarationError
from app.domain.identity import ANONYMOUS
from app.domain.ports import StartRun
from app.domain.scheduled import CallTarget
from app.functions.agent_runs import AgentCard, prompt_of
from app.functions.registry import FunctionRegistry
from app.functions.scheduled import call_target
from app.threads.starting import start_of


class _NoIds:
    """Names nothing: each slot of a cron gets ids of its own."""

    def new(self) -> str:
        return ""


def cron_plans(
    crons: Iterable[Cron], agents: Mapping[str, AgentCard], functions: FunctionRegistry
) -> Sequence[CronPlan]:
    """Return what each cron is to do.

    Raises:
        DeclarationError: two crons have one name, or there is no such target, or it does not
            take these arguments; says where, and the fix.
    """
    declared: dict[str, Cron] = {}
    for cron in crons:
        other = declared.setdefault(cron.name, cron)
        if other is not cron:
            raise cron.error(f"there is another one of this name at {other.place}; rename one")
    return [_plan(cron, agents, functions) for cron in declared.values()]


def _plan(cron: Cron, agents: Mapping[str, AgentCard], functions: FunctionRegistry) -> CronPlan:
    target: StartRun | CallTarget
    try:
        if is_function(cron.target):
            target = call_target(functions, cron.target, cron.args, ANONYMOUS)
        else:
            target = _start(cron, agents)
    except DeclarationError:
        raise
    except (ChatError, TypeError) as error:
        raise cron.error(str(error)) from error
    return CronPlan(cron.name, cron.expression, cron.timezone, target, cron.catch_up, cron.overlap)


def _start(cron: Cron, agents: Mapping[str, AgentCard]) -> StartRun:
    if isinstance(cron.target, ServerFunction):
        raise TypeError("unreachable")
    slug = slug_of(cron.target, agents)
    if slug is None:
        wanted, known = getattr(cron.target, "slug", cron.target), ", ".join(sorted(agents))
        raise cron.error(f"there is no agent {wanted!r}; there are: {known or 'none'}")
    request = run_request(slug, cron.args)
    return start_of(prompt_of(request, agents[slug], ANONYMOUS, None), _NoIds())
