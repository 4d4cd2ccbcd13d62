"""Reads OpenMetrics text from standard input with Prometheus' own parser and prints every sample as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

samples = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation, family.name
    for sample in family.samples:
        labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
        samples[f"{sample.name}{{{labels}}}"] = sample.value
print(json.dumps(samples))
