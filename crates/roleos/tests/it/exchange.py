"""Holds what `roleos` exports against the published packages of SWE-bench and Harbor.

`exchange.py grading` reads lines `{"tests", "status", "solved"}` and compares with SWE-bench's grader.
`exchange.py exported FOLDER` lets the packages read every exported file.
"""

import importlib.util
import json
import os
import pathlib
import sys
import types


def swebench():
    """Makes parts of `swebench` importable without the containers and clouds that its front doors import."""
    site = pathlib.Path(importlib.util.find_spec("swebench").origin).parent.parent
    unused = {
        "docker": ["DockerClient"],
        "datasets": ["Dataset", "load_dataset", "load_from_disk"],
        "tqdm": ["tqdm"],
        "swebench.image_builder.docker_utils": ["list_images"],
    }
    for name, attributes in unused.items():
        module = types.ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, object)
        sys.modules[name] = module
    for name in ["swebench", "swebench.harness", "swebench.image_builder"]:
        module = types.ModuleType(name)
        module.__path__ = [str(site / name.replace(".", "/"))]
        sys.modules[name] = module


def grading():
    from swebench.harness.grading import get_eval_tests_report, get_resolution_status

    count = solved = 0
    for line in sys.stdin:
        case = json.loads(line)
        report = get_eval_tests_report(case["status"], case["tests"])
        full = get_resolution_status(report) == "RESOLVED_FULL"
        assert full == case["solved"], line
        failing = set(report["FAIL_TO_PASS"]["failure"]) | set(report["PASS_TO_PASS"]["failure"])
        assert failing == set(case["failing"]), (failing, line)
        count += 1
        solved += full
    print(f"{count} status maps, {solved} solved")


def rows(folder):
    from swebench.harness.log_parsers import PARSER_REGISTRY
    from swebench.harness.utils import load_swebench_dataset, make_test_spec

    found = {}
    for dialect in ["v4", "v5"]:
        dataset = load_swebench_dataset(str(folder / f"{dialect}.jsonl"))
        assert dataset, "no rows"
        for row in dataset:
            assert isinstance(row["FAIL_TO_PASS"], str) == (dialect == "v4")
            if dialect == "v5":
                spec = make_test_spec(row)
                assert spec.FAIL_TO_PASS and spec.log_parser in PARSER_REGISTRY, row["instance_id"]
                assert any("TEST_EXIT_CODE" in line or "EXIT" in line for line in spec.eval_script_list)
        found[dialect] = dataset
    return found["v5"]


def reports(folder, dataset):
    import swebench.harness.reporting as reporting
    from swebench.harness.utils import get_predictions_from_file

    predictions = get_predictions_from_file(str(folder / "predictions.jsonl"), "", "")
    predictions = {one["instance_id"]: one for one in predictions}
    ours = json.loads((folder / "report.json").read_text())
    reporting.RUN_EVALUATION_LOG_DIR = folder / "logs"
    for task, report in ours["instances"].items():
        model = predictions[task]["model_name_or_path"].replace("/", "__")
        place = folder / "logs" / "run" / model / task
        place.mkdir(parents=True)
        (place / "report.json").write_text(json.dumps({task: report}))
    written = reporting.make_run_report(predictions, dataset, "run", report_dir=str(folder))
    theirs = json.loads(pathlib.Path(written).read_text())
    assert set(theirs) == set(ours["report"]), set(theirs) ^ set(ours["report"])
    # They look for causes in the logs of containers; we know them.
    causes = {"infra_failure_instances", "infra_failure_ids", "failure_reasons"}
    for name in set(theirs) - causes:
        assert theirs[name] == ours["report"][name], (name, theirs[name], ours["report"][name])
    print(f"{len(predictions)} predictions, {theirs['resolved_instances']} resolved")


def harbor(folder):
    from harbor.models.task.config import TaskConfig
    from harbor.models.task.paths import TaskPaths
    from harbor.models.trajectories.trajectory import Trajectory
    from harbor.models.trial.result import TrialResult

    tasks = sorted((folder / "harbor").iterdir())
    for task in tasks:
        paths = TaskPaths(task)
        config = TaskConfig.model_validate_toml(paths.config_path.read_text())
        assert config.schema_version == "1.4" and config.metadata["roleos_task_digest"]
        assert paths.instruction_path.is_file() and paths.environment_dir.is_dir()
        assert paths.discovered_test_path and paths.discovered_solve_path, task
        assert not paths.has_configured_steps()
    trials = (folder / "trials.jsonl").read_text().splitlines()
    for line in trials:
        trial = TrialResult.model_validate_json(line)
        assert trial.reward_valid and trial.verifier_result.rewards["reward"] in (0, 1)
        assert trial.started_at <= trial.finished_at
    steps = 0
    trajectories = (folder / "atif.jsonl").read_text().splitlines()
    for line in trajectories:
        trajectory = Trajectory.model_validate_json(line)
        assert trajectory.final_metrics.total_steps == len(trajectory.steps)
        steps += len(trajectory.steps)
        bad = json.loads(line)
        bad["roleos"] = 1
        try:
            Trajectory.model_validate(bad)
        except ValueError:
            continue
        raise AssertionError("an unknown key was taken")
    print(f"{len(tasks)} task folders, {len(trials)} trials, {len(trajectories)} trajectories of {steps} steps")


if __name__ == "__main__":
    swebench()
    if sys.argv[1] == "grading":
        grading()
    else:
        place = pathlib.Path(sys.argv[2])
        os.chdir(place)
        reports(place, rows(place))
        harbor(place)
