"""From what an agent says to the model that answers it."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from app.models.demo import DEMO, demo_model
from app.models.failures import ModelNotConfigured

ModelChoice: TypeAlias = str | Model
ModelSource: TypeAlias = ModelChoice | Callable[[Any], ModelChoice]
"""A model id, a model object, or a callable that gets the settings and returns one of those."""

DEFAULT: Final = "default"
TEST: Final = "test"  # the model library's own double
_BY_KEY: Final = (
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5"),
    ("OPENAI_API_KEY", "openai:gpt-6-luna"),
)
"""What ``default`` means where a provider's key is set; the first one counts."""

_EXTRA = re.compile(r"pydantic-ai-slim\[([a-z0-9-]+)\]")
_VARIABLES = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")


def default_model(chosen: str, environment: Mapping[str, str]) -> str:
    """Return the id that ``model="default"`` means.

    Args:
        chosen: ROPEWALK_MODEL; empty for none.
        environment: where a provider's key would be.
    """
    by_key = (model for key, model in _BY_KEY if environment.get(key))
    return chosen or next(by_key, f"{DEMO}:")


class Models:
    """The models of one process; each id is built once."""

    def __init__(
        self,
        *,
        default: str = f"{DEMO}:",
        settings: object = None,
        demo_delay: timedelta = timedelta(0),
    ) -> None:
        """Keep what ids mean here.

        Args:
            default: the id behind ``model="default"``.
            settings: what a callable model is given.
            demo_delay: how long the scripted model waits between two words.
        """
        self._default = default
        self._settings = settings
        self._demo_delay = demo_delay
        self._built: dict[str, Model] = {}

    def is_built(self, source: ModelSource) -> bool:
        """Return whether ``resolve`` imports nothing for this any more."""
        return not isinstance(source, str) or self._id_of(source) in self._built

    def resolve(self, source: ModelSource) -> Model:
        """Return the model that ``source`` means.

        The first use of a provider imports its SDK, which takes seconds: do it at start.

        Raises:
            ModelNotConfigured: the message names the missing extra, key or model.
        """
        chosen = source if isinstance(source, str | Model) else source(self._settings)
        if isinstance(chosen, Model):
            return chosen
        model_id = self._id_of(chosen)
        if model_id not in self._built:
            self._built[model_id] = self._build(model_id)
        return self._built[model_id]

    def _id_of(self, chosen: str) -> str:
        return canonical(self._default if chosen == DEFAULT else chosen)

    def _build(self, model_id: str) -> Model:
        if model_id.startswith(f"{DEMO}:"):
            return demo_model(model_id, self._demo_delay)
        try:
            return infer_model(model_id)
        except ImportError as error:
            raise ModelNotConfigured(_missing_extra(model_id, str(error))) from error
        except UserError as error:
            raise ModelNotConfigured(_misconfigured(model_id, error.message)) from error


def canonical(model_id: str) -> str:
    """Return ``provider:model`` for either spelling, also for ``vendor/model-id``."""
    provider = re.match(r"[^:/]+", model_id)
    if provider is None or provider.end() == len(model_id):
        return model_id
    return f"{provider[0]}:{model_id[provider.end() + 1 :]}"


def names_a_model(model_id: str) -> bool:
    """Whether this is the form of an id; whether there is such a model shows on use."""
    if model_id in {DEFAULT, TEST}:
        return True
    provider, _, name = canonical(model_id).partition(":")
    return bool(provider) and bool(name or provider == DEMO) and provider != model_id


def _missing_extra(model_id: str, message: str) -> str:
    extra = _EXTRA.search(message)
    if extra is None:
        return f"the model {model_id} needs a package that is not installed: {message}"
    return (
        f"the model {model_id} needs a package that is not installed: "
        f'pip install "pydantic-ai-slim[{extra[1]}]"'
    )


def _misconfigured(model_id: str, message: str) -> str:
    variables = list(dict.fromkeys(_VARIABLES.findall(message)))
    if message.startswith("Unknown model") or not variables:
        return f"the model {model_id} cannot be used: {message}"
    return f"the model {model_id} needs {' or '.join(variables)} in the environment"
