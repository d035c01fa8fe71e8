"""The answer that a run was asked for in a certain form: its start's, or its agent's ``output``.

How a model is held to it is the model library's choice, by the model's profile: a call of the
output tool, the provider's own way, or an instruction.  So an answer comes as a call or as text.

What does not fit goes back to the model, as the result of that call or as a message, ``RETRIES``
times in a run; then the request fails, and the run with it.  An answer that comes together with
other calls is not taken: they run, gated ones once a person has decided (APR-10), and the model
answers when it has read their results.  Every call gets a result (B112).

The schema stands in the run's policy and each turn's record says what became of its answer, so
whoever resumes the run holds the model to the same, and counts on.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from app.domain.output_policy import schema_of
from app.domain.run import Run
from app.domain.storable import encode
from app.loop.gate import Gate, Passage
from app.models.failures import Failure, ModelFailed
from app.threads.output_schema import TOOL, OutputRefused, OutputShape

RETRIES: Final = 3

_DESCRIPTION: Final = "Give the final answer, once you have all that it needs. Nothing follows it."
_NOT_ALONE: Final = (
    "Not taken yet: it came together with other calls. Read their results, then give the answer."
)
_ONE_IS_ENOUGH: Final = "Not taken: one answer is enough."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a model's answer.

    Attributes:
        passages: of the output tool's calls, by call id.
        wrong: what does not fit, if that is why the run goes on.
        feedback: the same as a message to the model, where there is no call to answer.
    """

    passages: Mapping[str, Passage] = field(default_factory=dict)
    wrong: str | None = None
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """What a run's answer has to look like."""

    shape: OutputShape

    @classmethod
    def of(cls, run: Run) -> "Answering | None":
        """Return it, if the run was asked for in a form."""
        schema = schema_of(run.policy)
        return None if schema is None else cls(OutputShape.of(schema))

    def asked(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        """Return the parameters of a request that asks for the form."""
        shown = self.shape.shown
        title, told = shown.get("title"), shown.get("description")
        described = told if isinstance(told, str) else None
        tool = ToolDefinition(
            name=TOOL,
            description=f"{_DESCRIPTION} {described}" if described else _DESCRIPTION,
            parameters_json_schema=shown,
            kind="output",
        )
        form = OutputObjectDefinition(
            json_schema=shown,
            name=title if isinstance(title, str) else None,
            description=described,
        )
        return replace(
            parameters,
            output_mode="auto",
            output_tools=[tool],
            output_object=form,
            allow_text_output=False,
        )

    def judge(self, response: ModelResponse) -> Verdict:
        """Return what becomes of an answer."""
        calls = response.tool_calls
        mine = [call for call in calls if call.tool_name == TOOL]
        if len(mine) < len(calls):
            held_back = Passage(Gate.SHUT, _NOT_ALONE)
            return Verdict({call.tool_call_id: held_back for call in mine})
        if mine:
            return self._of_calls(mine)
        wrong = self._wrong(response.text)
        if wrong is None:
            return Verdict()
        return Verdict(wrong=wrong, feedback=f"This answer was not taken: {wrong}. {self._demand}")

    def require_fit(self, response: ModelResponse, misses: int) -> None:
        """Let an answer pass, unless it is the last that may be wrong, and is.

        Raises:
            ModelFailed: it is.
        """
        wrong = self.judge(response).wrong
        if wrong is not None and misses >= RETRIES:
            times = f"{misses + 1} times"
            message = f"the model gave no answer that fits the output schema, {times}: {wrong}"
            raise ModelFailed(Failure("OUTPUT_INVALID", message))

    def answer(self, response: ModelResponse, passages: Mapping[str, Passage]) -> str:
        """Return the JSON of an answer that was taken."""
        taken = [
            call for call in response.tool_calls if passages[call.tool_call_id].gate is Gate.TAKEN
        ]
        return encode(self.shape.read(taken[0].args if taken else response.text))

    def _of_calls(self, calls: Sequence[ToolCallPart]) -> Verdict:
        wrongs = {call.tool_call_id: self._wrong(call.args) for call in calls}
        best = next((each for each, wrong in wrongs.items() if wrong is None), None)
        if best is not None:
            shut = Passage(Gate.SHUT, _ONE_IS_ENOUGH)
            return Verdict({each: Passage(Gate.TAKEN) if each == best else shut for each in wrongs})
        told = {each: Passage(Gate.SHUT, f"Not taken: {wrong}.") for each, wrong in wrongs.items()}
        return Verdict(told, wrong=next(iter(wrongs.values())))

    def _wrong(self, sent: str | Mapping[str, object] | None) -> str | None:
        try:
            self.shape.read(sent)
        except OutputRefused as refused:
            return refused.wrong
        return None

    @property
    def _demand(self) -> str:
        schema = json.dumps(self.shape.shown, ensure_ascii=False)
        return f"Answer with nothing but JSON that fits this schema: {schema}"
