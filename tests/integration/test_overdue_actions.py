"""What has waited too long for a decision: the sensor finds it, and the webhook is told once, without any words."""

from __future__ import annotations

import json
from uuid import UUID

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.knowledge.action_assets import (
    no_action_waits_too_long,
    open_actions,
    waiting_actions_sensor,
)
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.views.kinds import ActionKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import plant_fact
from tests.support.webhook_receiver import WebhookReceiver


def ask_long_ago(graph: Graph, fact_id: UUID, kind: ActionKind, other_fact_id: UUID | None = None) -> None:
    """Propose an action, as if five hours ago."""
    doubt = Doubt(kind, graph.user.user_id, "contradiction", "belief", fact_id=fact_id, other_fact_id=other_fact_id)
    with graph.here.database.pipeline() as tx:
        action_id = propose(tx, doubt).action_id
    with graph.here.database.owner() as tx:
        query = "UPDATE neurigraph.actions SET requested_at = now() - interval '5 hours' WHERE action_id = %s"
        tx.execute(query, [action_id])


def looked(instance: dg.DagsterInstance) -> bool:
    """Whether a tick of the sensor requests a run."""
    resources = {"installation": InstallationResource()}
    with dg.build_sensor_context(instance=instance, definitions=defs, resources=resources) as context:
        return bool(waiting_actions_sensor.evaluate_tick(context).run_requests)


def keep(instance: dg.DagsterInstance) -> bool:
    """Run the asset with its check; return whether the check passed."""
    result = dg.materialize(
        [open_actions, no_action_waits_too_long], instance=instance, resources={"installation": InstallationResource()}
    )
    assert result.success
    (found,) = result.get_asset_check_evaluations()
    return found.passed


def test_what_waits_too_long_is_told_once(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = new_graph(installation)
    (record,) = graph.remember("#Home Ana moved to Zanzibar.")
    first, second = (plant_fact(installation, record, text) for text in ("Ana lives in Porto.", "Ana has a dog."))
    with WebhookReceiver("500", "500", "500", "500", "ok") as receiver, dg.DagsterInstance.ephemeral() as instance:
        describe(installation.settings, monkeypatch, NEURIGRAPH_FAILURE_WEBHOOK_URL=receiver.url)
        assert not looked(instance)
        assert keep(instance)
        ask_long_ago(graph, first, ActionKind.RESOLVE, other_fact_id=second)
        assert looked(instance)
        assert not keep(instance)
        failed = receiver.connections
        assert failed >= 1
        assert looked(instance), "nobody has heard of it yet"
        while receiver.connections < 5:
            assert not keep(instance)
        assert not looked(instance), "it is told once"
        assert not keep(instance), "and shown as long as it waits"
        told = receiver.connections
        ask_long_ago(graph, second, ActionKind.DELETE)
        assert looked(instance)
        keep(instance)
        assert receiver.connections == told + 1
        bodies, heads = receiver.bodies, receiver.heads
    assert bodies[-1] == {"event": "actions_waiting", "waiting": 2, "overdue": 2}
    assert bodies[-2] == {"event": "actions_waiting", "waiting": 1, "overdue": 1}
    for word in ("Zanzibar", "Porto", str(first), str(graph.user.user_id)):
        assert word not in json.dumps([bodies, heads])
