"""A copied home neither uses the server of the original nor starts a torn copy of its data."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.postgres.embedded import EmbeddedPostgres
from tests.support.embedded_server import ask

pytestmark = pytest.mark.slow


@pytest.fixture(params=["reachable for the server's account", "private"])
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home whose data are below it, and for root one with a link to them."""
    folder = Path(tempfile.mkdtemp(prefix="neurigraph-copied-"))
    folder.chmod(0o700 if request.param == "private" else 0o711)
    yield folder / "home"
    for made in folder.iterdir():
        with contextlib.suppress(ConfigurationError):  # a copy, which has nothing of its own
            EmbeddedPostgres(made).delete()
    shutil.rmtree(folder)


def copied(home: Path, name: str) -> Path:
    """Return a copy as ``cp -a`` makes it."""
    return Path(shutil.copytree(home, home.with_name(name), symlinks=True))


def test_copy_of_running_home_is_refused(home: Path) -> None:
    with EmbeddedPostgres(home).lease() as lease:
        copy = EmbeddedPostgres(copied(home, "copy"))
        for use in (copy.lease, copy.stop, copy.delete):
            with pytest.raises(
                ConfigurationError, match=f"copy is a copy of {home}.*neurigraph admin backup add"
            ) as caught:
                use()
            assert "\n" not in str(caught.value)
        assert ask(lease, "SELECT 1") == 1


def test_moved_home_goes_on(home: Path) -> None:
    EmbeddedPostgres(home).lease().close()
    readme = (home / "README.txt").read_text()
    assert str((home / "postgres" / "data").resolve()) in readme
    assert "neurigraph admin backup add" in readme
    moved = home.rename(home.with_name("moved"))
    with EmbeddedPostgres(moved).lease() as lease:
        assert ask(lease, "SELECT 1") == 1
    assert str((moved / "postgres" / "data").resolve()) in (moved / "README.txt").read_text()


def test_copy_of_stopped_home(home: Path) -> None:
    """With its data it is a home of its own; with a link to them it is refused while the original is there."""
    EmbeddedPostgres(home).lease().close()
    copy = copied(home, "copy")
    if (home / "postgres").is_symlink():
        with pytest.raises(ConfigurationError, match="would use its database"):
            EmbeddedPostgres(copy).lease()
        return
    with EmbeddedPostgres(copy).lease() as lease, EmbeddedPostgres(home).lease() as original:
        assert lease.port != original.port
        assert ask(lease, "SELECT 1") == ask(original, "SELECT 1") == 1
