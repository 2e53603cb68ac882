"""Looks at the parts that store and answer: the database, its clock, keys, models, the queue and Dagster's records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from psycopg import Error
from psycopg.sql import Identifier

from neurigraph_pipelines.database.migrations import require_current, require_secret
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion import readiness
from neurigraph_pipelines.ingestion.figures import figures_of_work
from neurigraph_pipelines.ingestion.unfinished import REMEDY, count_unfinished
from neurigraph_pipelines.model.errors import ConfigurationError, NeurigraphError
from neurigraph_pipelines.runtime.doctor import dagster_failures
from neurigraph_pipelines.runtime.doctor.findings import Finding, error, warning, well
from neurigraph_pipelines.runtime.stack.home_lock import running_stack
from neurigraph_pipelines.settings.providers import ModelSettings
from neurigraph_pipelines.wiring.directory import require_answers
from neurigraph_pipelines.wiring.installation import Installation

CLOCKS_APART, CLOCKS_TOO_FAR_APART = 1.0, 30.0
"""Seconds between the clocks of this machine and of the database: noticed, and too many for leases and keys."""

EMBEDDINGS_LATE_SECONDS = 900.0

_REMEDIES = {
    "reading": "see `postgres/server.log` in the home folder, or whether the server of NEURIGRAPH_DATABASE_URL runs",
    "writing": "make room on the disk, and look at the object store (docs/object-storage.md)",
    "ingestion": "run `neurigraph up`, or `neurigraph ingest` once; logs are in `logs` of the home folder",
}
_REFUSED_REMEDY = (
    "give this program the NEURIGRAPH_ROLE_SECRET, or the `role_secret` of the home folder, with which the database "
    "was migrated, or run `neurigraph admin rotate-secret`; a refused user of NEURIGRAPH_DATABASE_URL needs its own "
    "password"
)
_CLOCK_REMEDY = "let both machines set their clocks by the network, such as by `timedatectl set-ntp true`"
_QUERIES = statements("doctor")


def database(installation: Installation) -> Iterator[Finding]:
    """Look at the versions of the server and the schema.

    Raises:
        ConfigurationError: The schema is another one, or the server cannot be reached.
    """
    require_current(installation.database)
    with installation.database.owner() as tx:
        (row,) = tx.execute(_QUERIES["server"])
    if installation.replica is not None and not installation.replica.is_current():
        most = installation.settings.database.replica_lag_seconds
        found = f"the standby is no standby, does not answer, or is more than {most:g} s behind: searches do not use it"
        yield warning("database", found, "look at NEURIGRAPH_DATABASE_REPLICA_URL and the standby (docs/scaling.md)")
    yield well("database", f"Postgres {row['version']} with pgvector {row['vector']}; the schema is of this version")


def clocks(installation: Installation) -> Iterator[Finding]:
    """Compare the clocks of this machine and of the database, and look for one that was set back."""
    before = time.time()
    with installation.database.owner() as tx:
        (row,) = tx.execute(_QUERIES["server"])
    after = time.time()
    apart = max(before - row["clock"], row["clock"] - after, 0.0)
    if apart > CLOCKS_TOO_FAR_APART:
        yield error("clocks", f"the database's clock is {apart:,.0f} s apart from this machine's", _CLOCK_REMEDY)
    elif apart > CLOCKS_APART:
        yield warning("clocks", f"the database's clock is {apart:.1f} s apart from this machine's", _CLOCK_REMEDY)
    if row["ahead"] > CLOCKS_APART:
        found = f"the newest sign of life is {row['ahead']:,.0f} s in the future: a clock was set back"
        yield warning("clocks", found, f"{_CLOCK_REMEDY}; retries and leases wait until then")
    elif apart <= CLOCKS_APART:
        yield well("clocks", "this machine and the database agree within a second")


def keys(installation: Installation) -> Iterator[Finding]:
    """Look at the secrets of the installation.

    Raises:
        ConfigurationError: A secret is too short, another one than the database's, or the master key is missing.
    """
    require_secret(installation.database, installation.secret)
    if installation.encrypted_objects is None:
        yield well("keys", "the database knows the secret; raw files are not encrypted")
        return
    wrapped = Counter(name for _, _, name in installation.graph_keys.wrapped_by())
    held = installation.graph_keys.opened_by() if wrapped else frozenset()
    if lost := sum(number for name, number in wrapped.items() if name not in held):
        found = f"keys of graphs that no master key opens: {lost:,}; their raw files cannot be read"
        yield error("keys", found, "put back the file master_key, or what NEURIGRAPH_MASTER_KEY_COMMAND prints")
    else:
        yield well("keys", "the database knows the secret, and the master key opens the keys of all graphs")


def models(installation: Installation) -> Iterator[Finding]:
    """Make each model as the settings have it. A local embedder embeds a word; a remote service is not asked.

    Raises:
        ConfigurationError: A model lacks its files or a setting.
    """
    if missing := _missing_keys(installation.settings.models):
        found = f"the chosen models have no key: {', '.join(missing)}. What comes in waits until then"
        yield error("models", found, f"set {' and '.join(missing)}, or choose the local models (docs/models.md)")
        return
    embedder = installation.embedder
    if not embedder.is_remote:
        embedder.embed(["word"])
    chosen = installation.settings.models.chosen_language_model
    _ = installation.language_model, installation.reranker
    asked = "" if not embedder.is_remote else "; remote ones have keys and were not asked"
    tokens = installation.tokens
    counted = f"counted by {tokens.name}" if tokens.exact else "estimated (TIKTOKEN_CACHE_DIR names the files to count)"
    yield well("models", f"{chosen} and {embedder.model} are ready{asked}; tokens are {counted}")


def _missing_keys(settings: ModelSettings) -> list[str]:
    """Return the variables of keys that the chosen services need and the settings lack."""
    keys = {
        "openai": ("OPENAI_API_KEY", settings.openai_api_key),
        "voyage": ("VOYAGE_API_KEY", settings.voyage_api_key),
    }
    chosen: set[str] = {settings.chosen_embedder}
    if settings.language_model_url is None:
        chosen |= {settings.chosen_language_model}
    return sorted(variable for name, (variable, key) in keys.items() if name in chosen and key is None)


def backlog(installation: Installation) -> Iterator[Finding]:
    """Check reading, writing and storing, waiting segments, and final failures."""
    found = readiness.check(installation.context)
    idle = running_stack(installation.home) is None and not found.queue_age_seconds
    for fault in found.faults:
        # An installation that stores by `neurigraph ingest` runs no sensors; that is no problem while nothing waits.
        make = warning if fault.part == "ingestion" and idle else error
        yield make("backlog", f"{fault.part} does not work: {fault.reason}", _REMEDIES[fault.part])
    totals: Counter[str] = Counter()
    for figure in figures_of_work(installation.database):
        totals[f"{figure.name} {figure.label}" if figure.name == "queue_segments" else figure.name] += int(figure.value)
    if failed := totals["failures_open"]:
        remedy = (
            "`neurigraph source failure list` says why, and `source failure replay` tries again (docs/operation.md)"
        )
        yield warning("backlog", f"segments and uploads that failed for good: {failed:,}", remedy)
    if unfinished := count_unfinished(installation.database):
        lacking = f"memories that lack what a defect kept from being made: {unfinished:,}"
        yield warning("backlog", lacking, REMEDY)
    if totals["pending_embeddings_age_seconds"] > EMBEDDINGS_LATE_SECONDS:
        late = f"memories without vectors: {totals['pending_embeddings']:,}, the oldest for more than 15 minutes"
        yield warning("backlog", late, "look at the embedding model: `neurigraph status`, and the run in Dagster's UI")
    due, retry = totals["queue_segments due"], totals["queue_segments retry"]
    yield well("backlog", f"segments that wait to be stored: {due:,}, for another attempt: {retry:,}")


def personas(installation: Installation) -> Iterator[Finding]:
    """Look for memories of others at and below personas, whose keys read them, that nobody put there."""
    counts: Counter[tuple[UUID, str]] = Counter()
    with installation.database.owner() as tx:
        for row in tx.execute(_QUERIES["others_at_personas"]).fetchall():
            counts[row["node_id"], row["slug"]] += row["records"]
        for node in tx.execute(_QUERIES["nodes_at_personas"]).fetchall():
            mixed = _QUERIES["mixed_records"].format(schema=Identifier(node["schema_name"]))
            for row in tx.execute(mixed).fetchall():
                counts[node["node_id"], node["slug"]] += row["records"]
    counts = +counts
    for (persona, slug), records in counts.items():
        found = f"memories at or below the persona {persona} with words of others, which its keys read: {records:,}"
        listed = f"`neurigraph memory list --user {slug} --node {persona} --below` lists them"
        yield warning("personas", found, f"{listed}; `neurigraph memory move` puts them elsewhere (docs/access.md)")
    if not counts:
        yield well("personas", "no memory of others was filed at a persona")


def databases(installation: Installation) -> Iterator[Finding]:
    """Look whether all databases of a directory answer, and for moves that were killed. Without others, say nothing."""
    listed = installation.databases.directory.databases()
    if len(listed) == 1:
        return
    for one in listed:
        try:
            require_answers(installation.databases.open(one.name).database)
        except (NeurigraphError, Error) as reason:
            found = f"{one.name} does not answer, and its users get 503 ({type(reason).__name__})"
            yield error("databases", found, f"run `neurigraph doctor` with NEURIGRAPH_HOME={one.home}")
        if one.arriving:
            found = f"users who are moving to {one.name}: {one.arriving:,}"
            yield warning("databases", found, "if no move runs, run `neurigraph user move` again (docs/scaling.md)")
    yield well("databases", f"databases of the directory: {len(listed):,}")


def checks(installation: Installation) -> Iterator[Finding]:
    """Look at the asset checks that failed last, and at the runs that failed within a day."""
    found = dagster_failures.read(installation)
    remedy = "open the asset of the check in Dagster's UI (docs/pipeline.md lists them)"
    for name in found.errors:
        yield error("checks", f"the check {name} failed", remedy)
    for name in found.warnings:
        yield warning("checks", f"the check {name} gave a warning", remedy)
    for run in found.runs:
        said = f"a run of {run.job} failed at {run.ended_at:%Y-%m-%d %H:%M} UTC"
        yield warning("checks", said, f"open run {run.run_id} in Dagster's UI")
    if not (found.errors or found.warnings or found.runs):
        yield well("checks", "no check of Dagster and no run of the last day failed")


LOOKS = {
    "database": database,
    "clocks": clocks,
    "keys": keys,
    "personas": personas,
    "databases": databases,
    "models": models,
    "backlog": backlog,
    "checks": checks,
}
"""Every look, in the order of what needs what."""


def unreachable(reason: ConfigurationError) -> Finding:
    """Return the finding that the database cannot be used, after which no other look makes sense."""
    found, run, remedy = str(reason).partition(": run ")
    others = _REFUSED_REMEDY if "password authentication failed" in found else _REMEDIES["reading"]
    return error("database", found, f"run {remedy}" if run else others)
