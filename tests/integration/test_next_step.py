"""What a command names as the next step: a stack that runs stores by itself."""

from __future__ import annotations

from neurigraph_pipelines.runtime.stack.home_lock import HomeLock
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import run_cli
from tests.support.memories import new_user


def test_running_stack_is_named_instead_of_a_command(installation: Installation) -> None:
    user, _ = new_user(installation)
    written = run_cli(installation.settings, "note", "The mast is made of pine.", "--user", user.slug)
    assert "Next: neurigraph ingest" in written.stdout
    stack = HomeLock(installation.home)
    try:
        written = run_cli(installation.settings, "note", "The boom is made of ash.", "--user", user.slug)
        assert "It is stored by `neurigraph up`, which runs." in written.stdout
    finally:
        stack.release()
