"""A process without routes of its own can be scraped too."""

import httpx2
import pytest

from app.main.embedded.ports import free_port
from app.main.listening import listening_socket
from app.main.metrics_port import metrics_port
from app.main.refusal import Refusal
from app.telemetry.metrics import Metrics


@pytest.mark.req("IMP-33")
def test_metrics_are_served_for_as_long_as_the_block_lasts() -> None:
    metrics, port = Metrics(), free_port()
    metrics.runs.labels("running").inc()

    with metrics_port(metrics, "127.0.0.1", port):
        answer = httpx2.get(f"http://127.0.0.1:{port}/metrics")

    assert 'ropewalk_run_transitions_total{status="running"} 1.0' in answer.text
    listening_socket("127.0.0.1", port).close()  # it is free again


def test_a_taken_port_is_refused_in_one_sentence() -> None:
    port = free_port()

    with (
        metrics_port(Metrics(), "127.0.0.1", port),
        pytest.raises(Refusal, match=f"port {port}"),
        metrics_port(Metrics(), "127.0.0.1", port),
    ):
        pass


def test_port_0_serves_nowhere() -> None:
    with metrics_port(Metrics(), "127.0.0.1", 0):
        pass
