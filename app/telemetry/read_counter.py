"""A counter that somebody else counts: it is read when the metrics are."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class ReadCounter(Collector):
    """Shows a number that only grows and that lives where it is counted; 0 without a source."""

    def __init__(self, name: str, meaning: str, registry: CollectorRegistry) -> None:
        self._name = name
        self._meaning = meaning
        self._read: Callable[[], int] = _nothing
        registry.register(self)

    def set_function(self, read: Callable[[], int]) -> None:
        """Read the number from there."""
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Return the number as it is now (``Collector``)."""
        return [CounterMetricFamily(self._name, self._meaning, value=self._read())]


def _nothing() -> int:
    return 0
