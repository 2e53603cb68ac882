"""Attacks with a secret that leaked, and commands with the wrong one."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from neurigraph_pipelines.database.migrations import LOGIN_ROLES
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import url_for_role
from tests.support.command_line import run_cli
from tests.support.embedded_server import new_home

pytestmark = [pytest.mark.attack, pytest.mark.slow]

OTHER = "another secret that is long enough to be taken"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Installation]:
    """An installation with secrets in its home folder only."""
    with new_home(tmp_path) as home, Installation(Settings.model_validate({"home": home})) as made:
        made.migrate()
        yield made


def opens(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" not in str(error):
            raise
        return False
    return True


def test_secret_of_claims_opens_no_database(own: Installation) -> None:
    leaked = Secret((own.home / "secret").read_text().strip())
    for role in LOGIN_ROLES:
        assert not opens(url_for_role(own.administrator_url, role, leaked)), role
        assert opens(url_for_role(own.administrator_url, role, own.secret)), role


def test_secrets_are_private(own: Installation) -> None:
    own.secrets.admin_key()
    own.secrets.ui_token_file()
    values = set()
    for name in ("secret", "role_secret", "admin_key", "ui_token"):
        assert stat.S_IMODE((own.home / name).stat().st_mode) == 0o600, name
        values.add((own.home / name).read_text())
    assert len(values) == 4


def test_command_with_another_secret(installation: Installation, settings: Settings) -> None:
    create_user(installation.database, "ada")
    wrong = run_cli(settings, "admin", "stats", more={"NEURIGRAPH_SECRET": OTHER})
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (4, "", 1)
    assert "another secret" in wrong.stderr
    assert OTHER not in wrong.stderr
    assert "ada" in run_cli(settings, "admin", "stats").stdout
    rotated = run_cli(settings, "admin", "rotate-secret", more={"NEURIGRAPH_SECRET": OTHER})
    assert rotated.returncode == 0, rotated.stderr
    assert "ada" in run_cli(settings, "admin", "stats", more={"NEURIGRAPH_SECRET": OTHER}).stdout


def test_rotated_secrets_of_the_home(own: Installation) -> None:
    create_user(own.database, "ada")
    before = {name: (own.home / name).read_text() for name in ("secret", "role_secret")}
    old = own.secret
    assert own.rotate_secret() == ("secret", "role_secret")
    assert all((own.home / name).read_text() != text for name, text in before.items())
    assert not opens(url_for_role(own.administrator_url, "neurigraph_agent", old))
    own.migrate()
    (own.home / "role_secret").unlink()  # lost: another one is refused, and replaced when asked
    with Installation(own.settings) as later:
        with pytest.raises(ConfigurationError, match="rotate-secret"):
            later.migrate()
        later.rotate_secret()
        later.migrate()
        with later.database.pipeline() as tx:
            assert tx.execute("SELECT count(*) AS n FROM neurigraph.users").fetchone() == {"n": 1}
