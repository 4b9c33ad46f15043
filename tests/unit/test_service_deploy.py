"""The files to deploy with: well-formed, and true to the metrics the service really has.

Docker and Grafana cannot run in the tests, so their files are checked as text. The
alert rules are checked twice: here against the exported metrics, and by promtool
where it is installed or Debian's package can be fetched.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import waypost
from waypost.model import utc_now
from waypost.service.figures import read_figures
from waypost.service.metrics import Metrics
from waypost.service.observe import Observation

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "alerts.rules.yml"
METRIC = re.compile(r"\b(waypost_[a-z_]+)\b")


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def rules() -> list[dict[str, Any]]:
    return [rule for group in read_yaml(RULES)["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return json.loads((DEPLOY / "grafana" / "waypost.json").read_text())["panels"]


@pytest.fixture
async def exported(tmp_path: Path) -> set[str]:
    """The names of all metrics that a service gives out."""
    metrics = Metrics()
    metrics.count(Observation("memory.retrieve", "planner", "t", degraded=True))
    metrics.refused.labels("429").inc()
    metrics.count_lookup(1, 1)
    async with waypost.open(tmp_path / "memory.db") as engine:
        text = metrics.render(await engine.database.read(read_figures, utc_now())).decode()
    return set(re.findall(r"^(?:# TYPE )?(waypost_\w+)", text, re.MULTILINE))


def test_every_alert_can_be_acted_upon() -> None:
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert f"## {rule['alert']}\n" in runbook


async def test_alerts_and_dashboard_use_metrics_that_exist(exported: set[str]) -> None:
    queries = [rule["expr"] for rule in rules()]
    queries += [target["expr"] for panel in panels() for target in panel["targets"]]
    for query in queries:
        for name in METRIC.findall(query):
            assert name in exported or f"{name}_total" in exported, f"{name} in {query}"


def test_the_dashboard_is_laid_out_without_overlaps() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_prometheus_scrapes_the_service_and_reads_the_rules() -> None:
    config = read_yaml(DEPLOY / "prometheus.yml")
    assert config["rule_files"] == [RULES.name]
    assert config["scrape_configs"][0]["static_configs"][0]["targets"] == ["waypost:7077"]


def test_the_compose_file_names_files_and_variables_that_exist() -> None:
    compose = read_yaml(DEPLOY / "compose.yaml")
    services = compose["services"]
    assert services.keys() == {
        "waypost", "postgres", "redis", "archive", "prometheus", "grafana",
    }  # fmt: skip
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            exists = (DEPLOY / source).exists() if source.startswith(".") else None
            assert exists or source in compose["volumes"], volume
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "nothing is published beyond this machine"
    example = (DEPLOY / ".env.example").read_text()
    for variable in re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()):
        assert f"{variable}=" in example, variable


def test_the_settings_of_the_deployment_are_settings() -> None:
    from waypost.settings import unknown_variables

    text = (DEPLOY / "compose.yaml").read_text() + (DEPLOY / "Dockerfile").read_text()
    names = re.findall(r"\bWAYPOST_[A-Z_]+\b", text)
    made_here = {"WAYPOST_PASSWORD"}  # for the database's own set-up script
    assert not set(unknown_variables(dict.fromkeys(names, "x"))) - made_here


def test_the_image_runs_without_privileges() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER waypost$", text, re.MULTILINE)
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in source.split():
            assert (ROOT / name).exists(), name


def test_the_databases_script_is_a_shell_script() -> None:
    subprocess.run(["sh", "-n", str(DEPLOY / "postgres-init.sh")], check=True)


@pytest.fixture
def promtool(tmp_path: Path) -> str:
    kept = Path(sys.prefix) / "promtool"
    found = shutil.which("promtool") or (str(kept) if kept.exists() else None)
    return found or fetched_promtool(tmp_path, kept)


def fetched_promtool(folder: Path, kept: Path) -> str:
    """promtool out of Debian's package, without installing it."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("promtool is not installed and cannot be fetched without apt")
    options: dict[str, Any] = {"cwd": folder, "capture_output": True, "check": False}
    subprocess.run(["apt-get", "download", "prometheus"], timeout=60, **options)
    packages = list(folder.glob("prometheus_*.deb"))
    if not packages:
        pytest.skip("promtool is not installed and Debian's package cannot be fetched")
    subprocess.run(["dpkg-deb", "-x", str(packages[0]), "unpacked"], **options)
    shutil.copy(folder / "unpacked" / "usr" / "bin" / "promtool", kept)
    return str(kept)


def test_promtool_accepts_rules_and_configuration(promtool: str) -> None:
    for check in (["check", "rules", str(RULES)], ["check", "config", "prometheus.yml"]):
        done = subprocess.run(
            [promtool, *check], cwd=DEPLOY, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
