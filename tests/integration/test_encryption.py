"""Encrypted files: read by ranges, damaged when changed, bound to their place, lost with their key."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.encrypting import encrypt_stored
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import KEYS, Claims
from neurigraph_pipelines.model.errors import ConfigurationError, DamagedObjectError, LostObjectError, NeurigraphError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.wiring.installation import Installation
from resources.master_keys import MasterKeyFile
from resources.storage.encrypted import EncryptedObjectStore
from resources.storage.local import LocalObjectStore
from resources.storage.sealing import HEADER_BYTES, MAGIC, SEGMENT_BYTES
from tests.conftest import ROOT, SECRET
from tests.support.command_line import run_cli
from tests.support.memories import converse, ingest, new_user, plain_context, stored

WORD = b"quokka"
ON = {"NEURIGRAPH_ENCRYPTION": "true"}


@pytest.fixture
def sealed(installation: Installation) -> Iterator[Installation]:
    """The same installation, with encryption."""
    with reopened(installation) as here:
        yield here


def reopened(here: Installation, **changes: Any) -> Installation:
    """Return another installation on the same home and database."""
    made = Installation(here.settings.changed(**{"encryption": True, **changes}))
    made.embedder = here.embedder
    return made


def objects_at(here: Installation) -> LocalObjectStore:
    """Return the objects as they lie on the disk."""
    return LocalObjectStore(here.home / "objects")


def bytes_at(here: Installation) -> dict[str, bytes]:
    plain = objects_at(here)
    return {key: b"".join(plain.get(key)) for key in plain.keys("") if not key.startswith(KEYS)}


def remember(here: Installation, *texts: str, slug: str | None = None) -> tuple[Claims, list[Any]]:
    """Store a conversation of a new user, and return the ids of its records."""
    user, claims = new_user(here, slug)
    converse(here, claims, *texts)
    return claims, [record.record_id for record in stored(ingest(plain_context(here), user))]


def test_files_are_encrypted_and_read(sealed: Installation) -> None:
    """Opening, passages, dormancy, rehydration and verification work, and no byte of the text lies on the disk."""
    here = sealed
    text = f"#Family {WORD.decode()} " + " ".join(f"word{number}" for number in range(20_000))
    claims, (record_id,) = remember(here, text, "How nice.")
    for content in bytes_at(here).values():
        assert content.startswith(MAGIC)
        assert WORD not in content
        assert gzip_magic_absent(content)
    context = here.acting_for(claims)
    file_id = file_of_record(here.database, claims, record_id)
    assert WORD in opened(here, claims, record_id)
    assert WORD.decode() in str(open_message(context, file_id, 1))
    control.compress(context, file_id)
    assert WORD in opened(here, claims, record_id)
    assert verify(here.context).findings == []
    assert audit_objects(here.context, dry_run=True).orphans == []


def gzip_magic_absent(content: bytes) -> bool:
    try:
        gzip.decompress(content[HEADER_BYTES:])
    except OSError:
        return True
    return False


def opened(here: Installation, claims: Claims, record_id: Any) -> bytes:
    return open_file(here.acting_for(claims), file_of_record(here.database, claims, record_id)).content


def store_of(here: Installation) -> EncryptedObjectStore:
    objects = here.encrypted_objects
    assert objects is not None
    return objects


def test_changed_bytes_are_damage(sealed: Installation) -> None:
    """Each changed, swapped, dropped, added or moved part is detected, by a whole read and by a range of that part."""
    objects, plain = store_of(sealed), objects_at(sealed)
    content = bytes(range(256)) * 100
    objects.put("durable/ada/a", [content])
    objects.put("durable/ada/b", [content])
    objects.put("durable/bob/a", [content])
    good = b"".join(plain.get("durable/ada/a"))
    body = [good[at : at + SEGMENT_BYTES] for at in range(HEADER_BYTES, len(good), SEGMENT_BYTES)]
    flipped = bytearray(good)
    flipped[HEADER_BYTES + 5] ^= 1
    salted = bytearray(good)
    salted[HEADER_BYTES - 1] ^= 1
    wrong = {
        "a flipped bit": bytes(flipped),
        "another salt": bytes(salted),
        "swapped segments": good[:HEADER_BYTES] + b"".join([body[1], body[0], *body[2:]]),
        "a lost end": good[:-SEGMENT_BYTES],
        "half a segment": good[:-100],
        "an end that comes early": good[:HEADER_BYTES] + b"".join([*body[:2], body[-1]]),
        "something after the end": good + body[0],
        "another object's": b"".join(plain.get("durable/ada/b")),
    }
    assert b"".join(objects.get("durable/ada/a")) == content
    for name, damaged in wrong.items():
        plain.put("durable/ada/a", [damaged])
        with pytest.raises(DamagedObjectError):
            assert b"".join(objects.get("durable/ada/a")), name
    for name in ("a flipped bit", "another salt", "swapped segments", "another object's"):
        plain.put("durable/ada/a", [wrong[name]])
        with pytest.raises(DamagedObjectError):
            assert objects.get_range("durable/ada/a", 0, 10), name
    plain.put("durable/ada/a", [b"".join(plain.get("durable/bob/a"))])
    with pytest.raises(LostObjectError):  # the key of another graph
        b"".join(objects.get("durable/ada/a"))
    plain.put("durable/ada/a", [good])
    assert objects.get_range("durable/ada/a", 4_090, 20) == content[4_090:4_110]


def test_keys_and_salts_never_repeat(sealed: Installation) -> None:
    objects, plain = store_of(sealed), objects_at(sealed)
    headers = set()
    for number in range(50):
        objects.put(f"durable/ada/{number % 5}", [b"the same"])
        headers.add(b"".join(plain.get(f"durable/ada/{number % 5}"))[:HEADER_BYTES])
    assert len(headers) == 50
    objects.put("durable/bob/1", [b"the same"])
    assert len({key.split("/")[1] for key in plain.keys(KEYS)}) == 2


def test_wrong_and_missing_master_key(sealed: Installation) -> None:
    """One clear error, nothing is lost, no other key is made; the old key back, everything is read."""
    claims, (record_id,) = remember(sealed, f"#Family {WORD.decode()}", "Yes.")
    file, before = sealed.master_key_file, bytes_at(sealed)
    assert file.stat().st_mode & 0o777 == 0o600
    secret = file.read_text()
    for content, reason in ((None, "missing"), ("x" * 64, "another master key"), ("short", "no master key")):
        file.unlink()
        if content is not None:
            file.write_text(content)
        with reopened(sealed) as here:
            with pytest.raises(ConfigurationError, match=reason):
                opened(here, claims, record_id)
            with pytest.raises(ConfigurationError, match=reason):
                here.objects.put("durable/new/a", [b"x"])
            with pytest.raises(ConfigurationError, match=reason):
                here.rotate_master_key()
        if content is None:  # also in a process that knows data keys already
            with pytest.raises(ConfigurationError, match=reason):
                sealed.objects.put("durable/new/a", [b"x"])
        assert file.exists() == (content is not None)
        file.write_text(secret)
    assert bytes_at(sealed) == before
    with reopened(sealed) as here:
        assert WORD in opened(here, claims, record_id)
        assert verify(here.context).findings == []


def test_rotation_writes_no_object(sealed: Installation) -> None:
    claims, (record_id,) = remember(sealed, f"#Family {WORD.decode()}", "Yes.")
    before, old = bytes_at(sealed), sealed.master_key_file.read_text()
    # A rotation that was killed after it wrote the new key, and after it wrapped one of the keys.
    MasterKeyFile(sealed.master_key_file).add()
    store_of(sealed).put("durable/late/a", [b"x"])
    with reopened(sealed) as here:
        assert WORD in opened(here, claims, record_id)
        assert here.rotate_master_key() >= 1
    (new,) = sealed.master_key_file.read_text().split()
    assert new != old.strip()
    assert {key: content for key, content in bytes_at(sealed).items() if key in before} == before
    with reopened(sealed) as here:
        assert len({name for _, _, name in here.graph_keys.wrapped_by()}) == 1
        assert WORD in opened(here, claims, record_id)
        assert here.rotate_master_key() >= 1
    sealed.master_key_file.write_text(old)
    with reopened(sealed) as here, pytest.raises(ConfigurationError, match="another master key"):
        opened(here, claims, record_id)


def test_command_prints_the_master_key(sealed: Installation, tmp_path: Path) -> None:
    """A rotation by a command: it prints the new key before the old one, and then the new one alone."""
    secrets = tmp_path / "secrets"
    command = {"master_key_command": SecretStr(f"cat '{secrets}'")}
    secrets.write_text("a" * 40 + "\n")
    with reopened(sealed, **command) as here:
        here.objects.put("durable/ada/a", [b"content"])
        assert not here.master_key_file.exists()
    secrets.write_text("b" * 40 + "\n" + "a" * 40 + "\n")
    with reopened(sealed, **command) as here:
        assert here.rotate_master_key() == 1
    secrets.write_text("b" * 40)
    with reopened(sealed, **command) as here:
        assert b"".join(here.objects.get("durable/ada/a")) == b"content"
    for broken, reason in (("false", "status 1"), ("/nowhere/at-all", "cannot be run"), ("echo x", "no master key")):
        with (
            reopened(sealed, master_key_command=SecretStr(broken)) as here,
            pytest.raises(ConfigurationError, match=reason),
        ):
            list(here.objects.get("durable/ada/a"))


def test_what_was_stored_before_is_encrypted(installation: Installation) -> None:
    claims, (record_id,) = remember(installation, f"#Family {WORD.decode()}", "Yes.")
    plain = bytes_at(installation)
    assert plain
    assert not any(content.startswith(MAGIC) for content in plain.values())
    with reopened(installation) as here:
        objects = store_of(here)
        assert WORD in opened(here, claims, record_id)
        objects_at(here).put("durable/foreign", [b"of another program"])
        assert encrypt_stored(here.context, objects, dry_run=True).plain == len(plain)
        assert bytes_at(here) | plain == bytes_at(here)
        first = encrypt_stored(here.context, objects, limit=1)
        assert (first.written, first.plain) == (1, len(plain) - 1)
        assert encrypt_stored(here.context, objects).written == len(plain) - 1
        again = encrypt_stored(here.context, objects)
        assert (again.encrypted, again.written, again.plain) == (len(plain), 0, 0)
        assert WORD in opened(here, claims, record_id)
        assert verify(here.context).findings == []
    # Off again: what is encrypted is read, and new files are as they are.
    with reopened(installation, encryption=False) as here:
        assert WORD in opened(here, claims, record_id)
        assert WORD in b"".join(here.objects.get(here.objects.put("durable/off/a", [WORD]).key))
        assert bytes_at(here)["durable/off/a"] == WORD


def test_killed_encryption_loses_nothing(installation: Installation) -> None:
    """Kill -9 while objects are written again: each is what it was or encrypted, and the next run does the rest."""
    claims, record_ids = remember(
        installation, *(f"#Family/N{number} {WORD.decode()} {number}" for number in range(12))
    )
    files = len(bytes_at(installation))
    code = (
        "import sys\nfrom neurigraph_pipelines.settings import Settings\n"
        "from neurigraph_pipelines.wiring.installation import Installation\n"
        "from neurigraph_pipelines.lifecycle.encrypting import encrypt_stored\n"
        "from resources.storage.local import LocalObjectStore\n"
        "publish, count = LocalObjectStore._publish, [0]\n"
        "def pausing(*args):\n    count[0] += 1\n"
        "    if count[0] == int(sys.argv[4]):\n        print('paused', flush=True)\n        sys.stdin.read()\n"
        "    publish(*args)\n"
        "LocalObjectStore._publish = pausing\n"
        "here = Installation(Settings(home=sys.argv[1], database_url=sys.argv[2], secret=sys.argv[3], "
        "role_secret=sys.argv[3], encryption=True))\n"
        "encrypt_stored(here.context, here.encrypted_objects)\n"
    )
    for moment in ("1", "2", "5", "9"):  # the first one writes the graph's key
        command = [sys.executable, "-c", code, str(installation.home), installation.administrator_url, SECRET, moment]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "paused\n"
        process.kill()
        process.communicate()
        with reopened(installation) as here:
            assert len(bytes_at(here)) == files
            assert verify(here.context).findings == []
    with reopened(installation) as here:
        assert encrypt_stored(here.context, store_of(here)).plain == 0
        assert all(content.startswith(MAGIC) for content in bytes_at(here).values())
        assert all(WORD in opened(here, claims, record_id) for record_id in record_ids)


def test_forgotten_graph_loses_its_key_first(sealed: Installation, tmp_path: Path) -> None:
    """A copy of the whole disk cannot be read with the master key after the graph was forgotten; another graph can."""
    claims, _ = remember(sealed, f"#Family {WORD.decode()}", "Yes.")
    others, (kept,) = remember(sealed, f"#Family {WORD.decode()}", "No.")
    copy = tmp_path / "copy"
    shutil.copytree(sealed.home / "objects", copy)
    keys = list(objects_at(sealed).keys(KEYS))
    forget(sealed.acting_for(claims), ErasureSubject(SubjectKind.USER, claims.user_id), through="tests")
    left = list(objects_at(sealed).keys(KEYS))
    assert set(left) < set(keys)
    for key in set(keys) - set(left):
        (copy / key).unlink()  # what forgetting does to the live keys
    with reopened(sealed, objects_url=str(copy)) as here:
        lost = 0
        for key in here.objects.keys("durable/"):
            try:
                assert WORD in gzip.decompress(b"".join(here.objects.get(key)))
            except LostObjectError:
                lost += 1
        assert lost >= 1
    assert WORD in opened(sealed, others, kept)


def test_backup_must_be_encrypted(sealed: Installation, tmp_path: Path) -> None:
    settings = sealed.settings
    plain = run_cli(settings, "admin", "backup", "add", str(tmp_path / "plain"), more=ON)
    assert plain.returncode == 4, plain.stdout
    assert "--key" in plain.stderr
    assert not (tmp_path / "plain").exists()
    key = tmp_path / "age"
    assert run_cli(settings, "admin", "backup", "new-key", str(key)).returncode == 0
    done = run_cli(settings, "admin", "backup", "add", str(tmp_path / "sealed"), "--key", str(key), more=ON)
    assert done.returncode == 0, done.stderr


def test_commands(sealed: Installation) -> None:
    remember(sealed, f"#Family {WORD.decode()}", "Yes.")
    settings = sealed.settings
    status = run_cli(settings, "admin", "encryption", "show", more=ON)
    assert "is on" in status.stdout, status.stderr
    assert "0 are not" in status.stdout
    assert run_cli(settings, "admin", "encryption", "apply", "--dry-run", more=ON).returncode == 0
    assert run_cli(settings, "admin", "encryption", "rotate", more=ON).returncode == 0
    for command in ("apply", "rotate"):
        refused = run_cli(settings, "admin", "encryption", command)
        assert refused.returncode == 4
        assert "NEURIGRAPH_ENCRYPTION=true" in refused.stderr
    assert "is off" in run_cli(settings, "admin", "encryption", "show").stdout


def test_deleted_key_stops_nobody_else(sealed: Installation) -> None:
    """A process that knows a destroyed key writes with a new one."""
    objects = store_of(sealed)
    objects.put("durable/ada/a", [b"old"])
    for key in list(objects_at(sealed).keys(KEYS)):
        objects_at(sealed).delete(key)
    objects.put("durable/ada/b", [b"new"])
    with reopened(sealed) as here:
        assert b"".join(here.objects.get("durable/ada/b")) == b"new"
        with pytest.raises(LostObjectError, match="destroyed"):
            b"".join(here.objects.get("durable/ada/a"))
        with pytest.raises(NeurigraphError):
            here.objects.get_range("durable/ada/a", 0, 1)
