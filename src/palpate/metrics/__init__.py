"""Numbers from traces."""

from palpate.metrics.metric import Bound, Metric, MetricResult, as_json
from palpate.metrics.table import METRICS, evaluate

__all__ = ["METRICS", "Bound", "Metric", "MetricResult", "as_json", "evaluate"]
