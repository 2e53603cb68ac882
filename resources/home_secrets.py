"""The secrets of an installation: those that the settings name, and files of mode 0600 in the home folder otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.errors import ConfigurationError
from resources.files import kept_secret, new_secret, write_private

_MINIMUM_LENGTH = 32


class HomeSecrets:
    """The secrets of one home folder; a file is made on first use.

    Args:
        home: The home folder.
        given: Secrets of the settings by the names of their files: ``secret``, ``role_secret``, ``admin_key`` and
            ``metrics_token``.
    """

    def __init__(self, home: Path, given: Mapping[str, str | None]) -> None:
        self._home = home
        self._given = given

    def secret(self) -> Secret:
        """Return the secret that signs claims, and from which the passwords of the database roles are derived.

        Raises:
            ConfigurationError: A secret of the settings is too short.
        """
        return Secret(self._long("secret"), self._long("role_secret"))

    def admin_key(self) -> str:
        """Return the key that may create users over HTTP."""
        return self._given["admin_key"] or kept_secret(self._home / "admin_key")

    def metrics_token(self) -> str:
        """Return the token that opens ``/metrics``."""
        return self._given["metrics_token"] or kept_secret(self._home / "metrics_token")

    def ui_token_file(self) -> Path:
        """Return the file with the token of Dagster's UI."""
        path = self._home / "ui_token"
        kept_secret(path)
        return path

    def rotate(self, apply: Callable[[], object]) -> tuple[str, ...]:
        """Replace the secrets that no setting gives, and apply all of them; after a crash, call it again.

        Returns:
            The names of the files with a new secret.
        """
        made = tuple(name for name in ("secret", "role_secret") if self._given[name] is None)
        for name in made:
            write_private(self._home / name, new_secret())
        apply()
        return made

    def _long(self, name: str) -> str:
        value = self._given[name]
        if value is None:
            return kept_secret(self._home / name)
        if len(value) < _MINIMUM_LENGTH:
            raise ConfigurationError(
                f"NEURIGRAPH_{name.upper()} has fewer than {_MINIMUM_LENGTH} characters: use "
                "`python -c 'import secrets; print(secrets.token_urlsafe(32))'` to make one"
            )
        return value
