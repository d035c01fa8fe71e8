"""Every metric is explained where an operator looks, and nothing else is explained there."""

import re
from pathlib import Path

import pytest

from app.gateway.metrics import GatewayMetrics
from app.telemetry.metrics import Metrics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deployment.md"


@pytest.mark.req("IMP-33")
def test_the_page_explains_exactly_the_metrics_there_are() -> None:
    metrics = Metrics()
    GatewayMetrics(metrics)
    table = PAGE.read_text().partition("## Metrics")[2].partition("\n## ")[0]

    explained = set(re.findall(r"^\| `(ropewalk_\w+)` \|", table, re.MULTILINE))

    there_are = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in metrics.registry.collect()
        if family.name.startswith("ropewalk_")
    }
    assert explained == there_are
    assert all(family.documentation for family in metrics.registry.collect())
