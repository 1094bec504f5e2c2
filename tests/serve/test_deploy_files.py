"""The files in deploy/ fit the service: metric names, routes, commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.serve.test_metrics import used_service
from tests.service.test_watch import FakeCache

from tokenmill import Service
from tokenmill._serve.metrics import exposition
from tokenmill._service.gauges import Gauges

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = re.compile(r"tokenmill_[a-z_]+")
WITH_METRICS = (
    "prometheus-alerts.yaml",
    "grafana-dashboard.json",
    "kubernetes/hpa.yaml",
    "kubernetes/keda.yaml",
)


@pytest.fixture(scope="module")
def known() -> set[str]:
    service = used_service()
    with_cache = Service(service.tokenizer(), cache=cast("Any", FakeCache()))
    bodies = [exposition(one, Gauges())[0].decode() for one in (service, with_cache)]
    families = [family for body in bodies for family in text_string_to_metric_families(body)]
    return {family.name for family in families} | {
        sample.name for family in families for sample in family.samples
    }


@pytest.mark.parametrize("name", WITH_METRICS)
def test_every_metric_that_a_file_names_exists(name: str, known: set[str]) -> None:
    used = set(NAME.findall((DEPLOY / name).read_text()))
    assert used
    assert used - known == set()


def test_promtool_accepts_the_alert_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool: apt-get install prometheus")
    command = [promtool, "check", "rules", str(DEPLOY / "prometheus-alerts.yaml")]
    assert subprocess.run(command, check=False).returncode == 0  # noqa: S603


def test_alerts_have_a_name_a_text_and_a_severity() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_probes_ask_for_routes_that_exist() -> None:
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels


def test_autoscalers_scale_the_deployment() -> None:
    deployment = next(yaml.safe_load_all((DEPLOY / "kubernetes/deployment.yaml").read_text()))
    name = deployment["metadata"]["name"]
    hpa = yaml.safe_load((DEPLOY / "kubernetes/hpa.yaml").read_text())
    keda = yaml.safe_load((DEPLOY / "kubernetes/keda.yaml").read_text())
    assert hpa["spec"]["scaleTargetRef"]["name"] == name
    assert keda["spec"]["scaleTargetRef"]["name"] == name
    assert hpa["spec"]["minReplicas"] == keda["spec"]["minReplicaCount"]
    assert hpa["spec"]["maxReplicas"] == keda["spec"]["maxReplicaCount"]


def test_yaml_fits_the_schemas_of_kubernetes() -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="108 MB: pip install kubernetes-validate"
    ).validate
    for name in ("deployment", "hpa", "pack-job"):
        for document in yaml.safe_load_all((DEPLOY / f"kubernetes/{name}.yaml").read_text()):
            validate(document, "1.34", strict=True)


def test_every_panel_of_the_dashboard_asks_for_something() -> None:
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    titles = [panel["title"] for panel in board["panels"]]
    assert len(set(titles)) == len(titles)
    for panel in board["panels"]:
        assert all(target["expr"] for target in panel["targets"])


def test_commands_in_the_files_are_commands_of_tokenmill() -> None:
    from tokenmill._cli import _parser

    parser = _parser()
    unit = (DEPLOY / "tokenmill.service").read_text()
    line = re.search(r"^ExecStart=\S+/tokenmill (.*)$", unit, re.MULTILINE)
    assert line is not None
    deployment = next(yaml.safe_load_all((DEPLOY / "kubernetes/deployment.yaml").read_text()))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    for arguments in (line.group(1).split(), container["args"]):
        assert parser.parse_args(arguments).models
