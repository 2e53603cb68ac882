"""Programs whose clock differs from the database's."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.database.secret import CLAIMS_LIFETIME_SECONDS, Secret
from neurigraph_pipelines.model.errors import ClockError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import SECRET
from tests.support.api_server import serving
from tests.support.command_line import environment
from tests.support.memories import new_user

TOLERANCE = 120
REUSED = 10  # signatures are reused for so many seconds
WHO = sql.SQL("SELECT neurigraph.asking_user_id() AS who")
PROGRAM = """
import sys, time
real = time.time
time.time = lambda: real() + float(sys.argv[1])
from neurigraph_pipelines.faces.cli.entry import run
sys.exit(run(sys.argv[2:]))
"""


@contextmanager
def shifted(installation: Installation, seconds: float) -> Iterator[PostgresDatabase]:
    """The same database as a program with a wrong clock uses it."""
    secret = Secret(SECRET, clock=lambda: time.time() + seconds)
    database = PostgresDatabase(installation.administrator_url, secret)
    yield database
    database.close()


@pytest.mark.parametrize("seconds", [-TOLERANCE + REUSED + 5, 0, TOLERANCE - 5])
def test_clock_within_the_tolerance(shared_installation: Installation, seconds: float) -> None:
    user, claims = new_user(shared_installation)
    with shifted(shared_installation, seconds) as database:
        assert database.ask(claims, WHO, {}) == [{"who": user.user_id}]
        with database.agent(claims) as tx:
            assert tx.execute(WHO).fetchall() == [{"who": user.user_id}]
    assert CLAIMS_LIFETIME_SECONDS - TOLERANCE - REUSED > 60, "claims outlive a statement and its wait"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-600, "behind"), (-TOLERANCE - 5, "behind"), (TOLERANCE + REUSED + 5, "ahead of"), (9e8, "ahead of")],
)
def test_clock_beyond_the_tolerance_is_an_error_that_says_so(
    shared_installation: Installation, seconds: float, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, claims = new_user(shared_installation)
    says = f"the clock of this program is [0-9]+ seconds {said} that of the database, .* at most 120 .* NTP"
    with shifted(shared_installation, seconds) as database:
        with pytest.raises(ClockError, match=says):
            database.ask(claims, WHO, {})
        with pytest.raises(ClockError, match=says), database.agent(claims) as tx:
            tx.execute(WHO)
        with pytest.raises(ClockError, match=says):
            search(shared_installation.acting_for(claims).using(database=database), Question("Whom did I meet?"))
        with caplog.at_level(logging.WARNING):
            database.later(claims, WHO, {})
            database.wait_for_background()
        assert "a background statement failed (ClockError)" in caplog.text
        with database.pipeline() as tx:  # jobs that work for all users take their times from the database
            assert tx.execute("SELECT 1 AS one").fetchall() == [{"one": 1}]


def test_forged_claims_are_not_told_the_time(shared_installation: Installation) -> None:
    _, claims = new_user(shared_installation)
    database = PostgresDatabase(shared_installation.administrator_url, Secret(SECRET))
    payload, _ = Secret(SECRET, clock=lambda: time.time() - 600).sign(claims)
    _, signature = Secret("another secret of at least 32 characters").sign(claims)
    with database.agent(None) as tx:
        set_them = (
            "SELECT set_config('request.jwt.claims', %s, true), set_config('neurigraph.claims_signature', %s, true)"
        )
        tx.execute(set_them, [payload, signature])
        assert tx.execute(WHO).fetchall() == [{"who": None}]
    database.close()


def test_http_answers_503_and_says_why(installation: Installation) -> None:
    user, _ = new_user(installation)
    key = issue_api_key(installation.database, user.user_id)
    headers = {"Authorization": f"Bearer {key}"}
    with serving(installation) as address:
        assert httpx.get(f"{address}/v1/tree", headers=headers, timeout=60).status_code == 200
    with shifted(installation, -600) as database:
        installation.__dict__["database"] = database
        with serving(installation) as address:
            answer = httpx.get(f"{address}/v1/tree", headers=headers, timeout=60)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "60"
    assert "seconds behind that of the database" in answer.json()["detail"]
    assert "NTP" in answer.json()["detail"]


def test_command_line_says_why(installation: Installation) -> None:
    user, _ = new_user(installation)
    for seconds, code, said in ((0, 0, ""), (-600, 5, "seconds behind that of the database")):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(seconds), "node", "tree", "--user", user.slug],
            env=environment(installation.settings),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
        assert "Traceback" not in done.stderr
