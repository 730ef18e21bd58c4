"""Numbers from traces."""

from palpate.metrics.table import METRICS, Bound, Metric, MetricResult, as_json, evaluate

__all__ = ["METRICS", "Bound", "Metric", "MetricResult", "as_json", "evaluate"]
