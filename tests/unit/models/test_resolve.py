"""An id in either spelling, an object or a callable; what is missing is named in one sentence."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from pydantic_ai.models import known_model_names
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.models.test import TestModel

from app.models.failures import ModelNotConfigured
from app.models.resolve import _BY_KEY, Models, canonical, default_model


@pytest.mark.parametrize(
    ("spelled", "model_id"),
    [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("openai/gpt-5-mini", "openai:gpt-5-mini"),
        ("openrouter/deepseek/deepseek-r1:free", "openrouter:deepseek/deepseek-r1:free"),
        ("openrouter:deepseek/deepseek-r1:free", "openrouter:deepseek/deepseek-r1:free"),
        ("bedrock:anthropic.claude-v2:0", "bedrock:anthropic.claude-v2:0"),
        ("test", "test"),
    ],
)
def test_both_spellings_are_one_id(spelled: str, model_id: str) -> None:
    assert canonical(spelled) == model_id


@pytest.mark.req("AGT-05")
def test_an_id_an_object_and_a_callable_of_the_settings_all_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    own = TestModel()
    models = Models(settings=SimpleNamespace(region="eu"))

    assert isinstance(models.resolve("openai/gpt-6-luna"), OpenAIResponsesModel)
    assert models.resolve(own) is own
    assert models.resolve(lambda settings: f"demo:{settings.region}").model_name == "demo:eu"
    assert models.resolve(lambda _: own) is own


def test_an_id_is_built_once() -> None:
    models = Models()

    assert models.resolve("demo:support") is models.resolve("demo/support")


@pytest.mark.parametrize(
    ("chosen", "environment", "model_id"),
    [
        pytest.param("", {}, "demo:", id="no-key"),
        pytest.param("", {"OPENAI_API_KEY": ""}, "demo:", id="an-empty-key"),
        pytest.param("", {"OPENAI_API_KEY": "k"}, "openai:gpt-6-luna", id="openai"),
        pytest.param("", {"ANTHROPIC_API_KEY": "k"}, "anthropic:claude-sonnet-5-5", id="anthropic"),
        pytest.param("groq:llama", {"OPENAI_API_KEY": "k"}, "groq:llama", id="chosen"),
    ],
)
def test_default_is_what_was_chosen_else_the_provider_with_a_key_else_the_demo(
    chosen: str, environment: Mapping[str, str], model_id: str
) -> None:
    assert default_model(chosen, environment) == model_id


def test_the_models_behind_default_are_known_to_the_library() -> None:
    assert {model for _, model in _BY_KEY} <= set(known_model_names())


def test_default_resolves_to_the_demo() -> None:
    assert isinstance(Models().resolve("default"), FunctionModel)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        pytest.param(
            "openai:gpt-6-luna",
            "the model openai:gpt-6-luna needs OPENAI_API_KEY in the environment",
            id="key",
        ),
        pytest.param(
            "groq/llama",
            "the model groq:llama needs a package that is not installed: "
            'pip install "pydantic-ai-slim[groq]"',
            id="extra",
        ),
        pytest.param(
            "nope:x", "the model nope:x cannot be used: Unknown model: nope:x", id="provider"
        ),
    ],
)
def test_what_is_missing_is_named(model: str, sentence: str) -> None:
    with pytest.raises(ModelNotConfigured) as missing:
        Models().resolve(model)

    assert missing.value.message == sentence
