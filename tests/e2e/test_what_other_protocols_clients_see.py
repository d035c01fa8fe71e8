"""The AI SDK's and AG-UI's own clients, under Node, against a real deployment.

Whatever they send and whenever they come, what they show at the end is what is stored: loaded
anew in the middle (B49), deciding for and against in one turn (B37), making things up (B100).
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.dev_process import ROOT, DevProcess, dev_process

SCRIPTS = Path(__file__).parent / "protocols"
ONE = "signed one for 2.0"
NO = "The call was not approved, so it did not run."


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gates")


@pytest.fixture(scope="module")
def dev(gates: Path) -> Iterator[DevProcess]:
    with dev_process(agents=SCRIPTS / "agents", env={"GATES": str(gates)}) as made:
        yield made.start()


@pytest.fixture(scope="module")
def told_by(dev: DevProcess, gates: Path) -> Callable[[str], Any]:
    """Run a script of the folder as Ann; return what it tells."""
    command = [sys.executable, "-m", "app.main.cli", "token", "--user", "ann"]
    token = _output([*command, "--data-dir", str(dev.data_dir)]).strip()

    def told(script: str) -> Any:  # noqa: ANN401  # JSON
        node = shutil.which("node")
        assert node is not None, "Node.js is missing; `make setup` says which one is needed"
        arguments = [str(ROOT / "frontend-sdk"), dev.url, str(gates), token]
        return json.loads(_output([node, str(SCRIPTS / script), *arguments]))

    return told


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---------------------------------------------------------------- the AI SDK


@pytest.fixture(scope="module")
def chats(told_by: Callable[[str], Any]) -> Any:  # noqa: ANN401  # JSON
    """Return what ``Chat`` and ``useChat`` have seen, by scene."""
    return told_by("ai-sdk.mjs")


def _is_true(view: Any) -> None:  # noqa: ANN401  # JSON
    """Check that a chat shows what is stored, each message once, as a new page would."""
    assert view["shown"] == view["stored"]
    assert view["loaded"] == view["stored"]
    assert view["once"]


def _texts(view: Any) -> list[str]:  # noqa: ANN401  # JSON
    return [words for kind, words, *_ in view["shown"] if kind == "text"]


def test_a_chat_shows_thoughts_calls_and_words(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["talks"]

    _is_true(told["first"])
    _is_true(told)
    assert (told["status"], told["errors"]) == ("ready", [])
    assert [kind for kind, *_ in told["first"]["shown"]] == [
        *("user", "thinking", "text", "call", "call", "text")
    ]
    assert told["first"]["shown"][3] == [
        *("call", "look", {"what": "rope"}, ["done", {"what": "rope", "found": None}])
    ]
    assert told["first"]["shown"][4][3] == ["failed", "a knot"]
    assert told["first"]["parts"] == told["first"]["loadedParts"]


def test_a_page_that_is_loaded_anew_has_the_answer_once(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["reloads"]

    _is_true(told)
    assert told["reloaded"] == told["stored"]
    assert told["most"] == 1
    # The client begins a message that it takes up from nothing.
    assert set(told["spoken"]) <= {told["stored"][0][1], "", "Half. ", "Half. Whole."}
    assert told["after"] == 204


@pytest.mark.parametrize(
    ("scene", "outcomes"),
    [
        ("approvesThenDenies", [["done", ONE], ["failed", f"{NO} Reason: too late"]]),
        ("deniesThenApproves", [["done", ONE], ["failed", NO]]),
        ("deniesAll", [["failed", NO], ["failed", f"{NO} Reason: no"]]),
    ],
)
def test_approvals_that_are_answered_together_take_effect_once(
    chats: Any,  # noqa: ANN401  # JSON
    scene: str,
    outcomes: Any,  # noqa: ANN401  # JSON
) -> None:
    told = chats[scene]

    assert (told["parked"]["status"], told["parked"]["asked"]) == ("ready", 2)
    assert [each[3] for each in told["parked"]["loaded"] if each[0] == "call"] == ["open", "open"]
    _is_true(told)
    assert [each[3] for each in told["shown"] if each[0] == "call"] == outcomes
    assert _texts(told) == ["Sign.", "done"]
    assert told["requests"] == 2


def test_what_a_client_makes_up_is_stored_nowhere(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["forges"]

    _is_true(told)
    assert "forged" not in json.dumps(told)
    assert [each[3] for each in told["shown"] if each[0] == "call"] == [
        ["done", {"what": "rope", "found": None}],
        ["done", "signed one"],
    ]


def test_who_was_shown_other_arguments_approves_nothing(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["swaps"]

    assert json.loads(told["errors"][0])["code"] == "CONFLICT"
    assert told["status"] == "awaiting_input"


def test_another_answer_and_another_question_are_branches(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["branches"]

    for view, texts in (
        (told["regenerated"], ["First."]),
        (told["went"], ["First.", "Next."]),
        (told["edited"], ["Instead."]),
    ):
        _is_true(view)
        assert _texts(view) == texts
    assert told["again"] == told["root"]
    assert told["count"] == 3


def test_a_run_that_breaks_in_the_middle_is_an_error_with_what_was_said(
    chats: Any,  # noqa: ANN401  # JSON
) -> None:
    told = chats["fails"]

    _is_true(told)
    assert (told["status"], told["thread"]) == ("error", "failed")
    assert told["errors"] == ["the model actor failed: not today"]


def test_a_chat_that_was_cut_off_takes_the_answer_up(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["cuts"]

    assert told["was"]["status"] == "error"
    assert (told["status"], told["errors"]) == ("ready", ["network error"])
    _is_true(told)
    assert _texts(told) == ["Half. Whole."]


def test_one_message_from_two_tabs_is_one_run(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["twice"]

    _is_true(told)
    assert _texts(told) == ["One run."]
    assert told["others"] == [told["stored"], told["stored"]]
    assert told["ids"][0] == told["ids"][1] == told["ids"][2]


def test_a_message_that_waits_is_told_its_own_answer(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["queues"]

    assert told["first"] + told["second"] == told["stored"]
    assert [words for kind, words, *_ in told["stored"] if kind == "text"] == [
        *("One is said.", "Two."),
    ]


def test_to_stop_is_to_listen_no_more_and_to_cancel_is_to_end(chats: Any) -> None:  # noqa: ANN401  # JSON
    told = chats["stops"]

    assert told["left"] == "running"
    _is_true(told["whole"])
    assert _texts(told["whole"]) == ["On and on."]
    assert told["cancelled"] == {"cancelled": True}
    _is_true(told["ended"])
    assert (told["ended"]["status"], told["last"]) == ("ready", "cancelled")


# ---------------------------------------------------------------- AG-UI


@pytest.fixture(scope="module")
def agents(told_by: Callable[[str], Any]) -> Any:  # noqa: ANN401  # JSON
    """Return what ``HttpAgent`` has seen, by scene."""
    return told_by("ag-ui.mjs")


def _agrees(view: Any) -> None:  # noqa: ANN401  # JSON
    """Check that an agent has what is stored, each message once, and under the same ids anew."""
    assert view["shown"] == view["stored"]
    assert view["joined"] == view["stored"]
    assert view["sameIds"]
    assert view["once"]


def test_an_agent_hears_thoughts_calls_words_and_state(agents: Any) -> None:  # noqa: ANN401  # JSON
    told = agents["talks"]

    _agrees(told)
    assert told["state"] == {"a": 1, "b": 2}
    assert told["last"]["outcome"] == {"type": "success"}
    assert {"STATE_SNAPSHOT", "STATE_DELTA", "TOOL_CALL_RESULT"} < set(told["kinds"])
    assert {"REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT"} < set(told["kinds"])


def test_who_joins_in_the_middle_has_the_thread_and_nothing_made_up(
    agents: Any,  # noqa: ANN401  # JSON
) -> None:
    told = agents["joins"]

    _agrees(told)
    assert told["other"] == told["stored"]


@pytest.mark.parametrize(
    ("scene", "outcomes"),
    [
        ("approvesThenDenies", ["signed one", f"{NO} Reason: too late"]),
        ("abandonsThenEdits", [NO, "signed three"]),
    ],
)
def test_interrupts_are_answered_and_the_run_goes_on(
    agents: Any,  # noqa: ANN401  # JSON
    scene: str,
    outcomes: list[str],
) -> None:
    told = agents[scene]

    assert told["parked"]["last"]["outcome"]["interrupts"] == told["interrupts"]
    assert [each["toolCallId"] for each in told["interrupts"]] == ["call_0_0", "call_0_1"]
    assert told["parked"]["shown"] == told["parked"]["stored"]
    _agrees(told)
    assert [each[3] for each in told["shown"] if each[0] == "call"] == outcomes
    assert told["requests"] == 2
    assert told["last"]["outcome"] == {"type": "success"}


def test_an_interrupt_is_not_answered_on_other_arguments(agents: Any) -> None:  # noqa: ANN401  # JSON
    told = agents["swaps"]

    assert told["refused"]["code"] == "CONFLICT"
    assert told["status"] == "awaiting_input"


def test_runs_that_fail_or_are_cancelled_end_as_such(agents: Any) -> None:  # noqa: ANN401  # JSON
    failed, cancelled = agents["fails"], agents["cancels"]

    _agrees(failed)
    assert (failed["last"]["type"], failed["last"]["code"]) == ("RUN_ERROR", "MODEL_FAILED")
    _agrees(cancelled)
    assert cancelled["last"]["outcome"] == {"type": "cancelled"}


def test_one_message_of_two_agents_is_one_run(agents: Any) -> None:  # noqa: ANN401  # JSON
    told = agents["twice"]

    _agrees(told)
    assert told["other"] == told["stored"]


def test_what_a_run_below_asks_is_told_too(agents: Any) -> None:  # noqa: ANN401  # JSON
    told = agents["delegates"]

    assert (told["asked"]["name"], told["asked"]["value"]["agent"]) == ("approval", "actor")
    _agrees(told)
