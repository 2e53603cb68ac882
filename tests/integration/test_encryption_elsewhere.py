"""Encrypted files in a bucket, and through exports, imports, moves, merges and backups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.errors import ConflictError, NeurigraphError
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import KEYS, Claims
from neurigraph_pipelines.stack.backup.create import back_up
from neurigraph_pipelines.stack.backup.folder import BackupFolder
from neurigraph_pipelines.stack.backup.load import restore
from neurigraph_pipelines.wiring import Installation
from resources.age_encryption import AgeKey
from resources.storage.sealing import MAGIC
from tests.integration.test_backup import SILENT
from tests.integration.test_encryption import WORD, objects_at, opened, remember, reopened
from tests.support.s3_servers import moto_server, new_bucket
