"""A running Dagster: GraphQL queries, its run workers, and a second daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neurigraph_pipelines.runtime.stack.processes import LocalStack
from tests.support.waiting import PATIENCE_SECONDS, wait_until

_LAUNCH = """mutation($job: String!, $config: RunConfigData!) { launchRun(executionParams: { runConfigData: $config
    selector: {jobName: $job, repositoryName: "__repository__", repositoryLocationName: "neurigraph"} }) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
_AGAIN = """mutation($run: String!) {
    launchRunReexecution(reexecutionParams: {parentRunId: $run, strategy: FROM_FAILURE}) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
_TERMINATE = """mutation($run: String!, $policy: TerminateRunPolicy!) {
    terminateRun(runId: $run, terminatePolicy: $policy) {
    __typename ... on TerminateRunFailure { message } ... on PythonError { message } } }"""
_STEPS = "query($run: ID!) { runOrError(runId: $run) { ... on Run { stepStats { stepKey } } } }"
_STATUS = "query($run: ID!) { runOrError(runId: $run) { ... on Run { status } } }"
_RUNS = """query($key: String!) { runsOrError(filter: {tags: [{key: "dagster/run_key", value: $key}]}) {
    ... on Runs { results { runId status } } } }"""
_STARTED = """query($job: String!) { runsOrError(filter: {pipelineName: $job, statuses: [STARTED]}) {
    ... on Runs { results { runId } } } }"""
_MESSAGES = """query($run: ID!) { logsForRun(runId: $run) { ... on EventConnection { events {
    ... on MessageEvent { message } } } } }"""
_PROCESSES = """query($run: ID!) { logsForRun(runId: $run) { ... on EventConnection { events {
    ... on EngineEvent { metadataEntries { label ... on TextMetadataEntry { text } } } } } } }"""


def graphql(stack: LocalStack, query: str, **variables: object) -> dict[str, Any]:
    """Query the webserver's GraphQL API."""
    request = urllib.request.Request(
        f"{stack.ui.url}/graphql",
        data=json.dumps({"query": query, "variables": variables}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {stack.dagster.token}"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        answer: dict[str, Any] = json.load(response)
    assert "errors" not in answer, answer
    data: dict[str, Any] = answer["data"]
    return data


def launch(stack: LocalStack, job: str, config: Mapping[str, object]) -> str:
    """Launch a job as the launchpad does, and wait for its success; return the run's id."""
    answer = graphql(stack, _LAUNCH, job=job, config=config)["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer

    def succeeded() -> bool:
        status = graphql(stack, _STATUS, run=answer["run"]["runId"])["runOrError"]["status"]
        assert status not in ("FAILURE", "CANCELED"), status
        return bool(status == "SUCCESS")

    await_true(succeeded, f"the success of {job}")
    run_id: str = answer["run"]["runId"]
    return run_id


def run_statuses(stack: LocalStack, run_key: str) -> list[str]:
    """Return the statuses of the runs with a run key, newest first; retries make several."""
    return [run["status"] for run in graphql(stack, _RUNS, key=run_key)["runsOrError"]["results"]]


def execute_again(stack: LocalStack, run_key: str) -> str:
    """Execute the newest run with a run key again from its failed step, as the UI does; return the new run's id."""
    answer = graphql(stack, _AGAIN, run=newest_run(stack, run_key))["launchRunReexecution"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    run_id: str = answer["run"]["runId"]
    return run_id


def terminate(stack: LocalStack, run_key: str, *, at_once: bool = False) -> None:
    """Terminate the newest run with a run key, as the UI does, with or without "Force termination immediately"."""
    assert terminate_run(stack, newest_run(stack, run_key), at_once=at_once)


def terminate_run(stack: LocalStack, run_id: str, *, at_once: bool = False) -> bool:
    """Terminate a run; return whether it had not ended before."""
    policy = "MARK_AS_CANCELED_IMMEDIATELY" if at_once else "SAFE_TERMINATE"
    answer = graphql(stack, _TERMINATE, run=run_id, policy=policy)["terminateRun"]
    return bool(answer["__typename"] == "TerminateRunSuccess")


def started_runs(stack: LocalStack, job: str) -> list[str]:
    """Return the ids of the runs of a job that are under way."""
    return [run["runId"] for run in graphql(stack, _STARTED, job=job)["runsOrError"]["results"]]


def newest_run(stack: LocalStack, run_key: str) -> str:
    """Return the id of the newest run with a run key."""
    run_id: str = graphql(stack, _RUNS, key=run_key)["runsOrError"]["results"][0]["runId"]
    return run_id


def steps_of(stack: LocalStack, run_id: str) -> set[str]:
    """Return the steps that a run executed."""
    return {step["stepKey"] for step in graphql(stack, _STEPS, run=run_id)["runOrError"]["stepStats"]}


def run_messages(stack: LocalStack, run_key: str) -> list[str]:
    """Return the messages in the logs of all runs with a run key."""
    runs = graphql(stack, _RUNS, key=run_key)["runsOrError"]["results"]
    logs = [graphql(stack, _MESSAGES, run=run["runId"])["logsForRun"]["events"] for run in runs]
    return [event["message"] for log in logs for event in log if "message" in event]


def worker_of(stack: LocalStack, run_key: str) -> int:
    """Return the process id of the newest run with a run key."""
    worker = worker_of_run(stack, newest_run(stack, run_key))
    assert worker is not None
    return worker


def worker_of_run(stack: LocalStack, run_id: str) -> int | None:
    """Return the process id of a run; None if Dagster has not noted it yet."""
    events = graphql(stack, _PROCESSES, run=run_id)["logsForRun"]["events"]
    entries = [entry for event in events for entry in event.get("metadataEntries", ())]
    return next((int(entry["text"]) for entry in entries if entry["label"] == "pid"), None)


def is_run(worker: int) -> bool:
    """Return whether a process executes a run, and did not get the id of one that did; only Linux can tell."""
    return sys.platform != "linux" or b"multiprocessing" in Path(f"/proc/{worker}/cmdline").read_bytes()


@contextmanager
def another_daemon(stack: LocalStack, log: Path, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run another daemon on the instance of a stack, or on the one in a folder; end it with all its children."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            stack.dagster.daemon_command(),
            env=stack.dagster.environment | ({"DAGSTER_HOME": str(folder)} if folder is not None else {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def await_true(condition: Callable[[], object], what: str) -> None:
    """Wait for something that Dagster's processes do; the interval leaves them the processor."""
    wait_until(condition, what, PATIENCE_SECONDS, interval=0.1)
