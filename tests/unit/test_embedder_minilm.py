"""The local embedder: similarity, exactness of 8 bits, long and hostile texts, the built graph."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.text.in_context import in_context
from resources.minilm import embedder as embedder_minilm
from resources.minilm.embedder import (
    MiniLmEmbedder,
    NeurigraphEmbedder,
    OwnEmbedder,
    model_folder,
    open_session,
    read_weights,
)
from resources.minilm.graph import INPUTS, build_graph
from resources.minilm.tokens import MAX_WINDOWS

SENTENCES = [
    "Caroline went to an adoption agency interview last Friday.",
    "The remote control should cost no more than twelve euros to produce.",
    "How do I reset the password of a Postgres role?",
    "My grandmother's sourdough starter is older than I am!",
    "We decided to postpone the release to the second week of March.",
    "Dave works with me at the shop and is married to my sister.",
    "Yes.",
    "Das Wetter an der Ostsee war durchwachsen.",
    "def merge(a, b): return sorted(a + b)",
    "I've been feeling anxious since the move, so I started running again in the mornings before work, usually "
    "about five kilometres along the canal, and it helps more than I expected it to.",
]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("minilm")


@pytest.fixture(scope="module")
def embedder(cache_dir: Path) -> MiniLmEmbedder:
    return MiniLmEmbedder(cache_dir)


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1)
    return norms


def test_vectors_are_independent_of_batch(embedder: MiniLmEmbedder) -> None:
    together = embedder.embed(SENTENCES)
    assert together.shape == (len(SENTENCES), 384)
    assert together.dtype == np.float32
    assert np.allclose(lengths(together), 1, atol=1e-5)
    alone = np.vstack([embedder.embed([sentence]) for sentence in SENTENCES])
    assert (together * alone).sum(axis=1).min() > 0.99999


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Where did Caroline go last week?", SENTENCES[0], SENTENCES[2]),
        ("When will the new version come out?", SENTENCES[4], SENTENCES[3]),
        ("exercise and mental health", SENTENCES[9], SENTENCES[1]),
        ("brother-in-law", SENTENCES[5], SENTENCES[8]),
        ("baking bread", SENTENCES[3], SENTENCES[0]),
    ],
)
def test_related_texts_are_nearer(embedder: MiniLmEmbedder, question: str, answer: str, other: str) -> None:
    asked, near, far = embedder.embed([question, answer, other], kind="query")
    assert asked @ near > asked @ far + 0.1


def test_int8_is_close_to_float(embedder: MiniLmEmbedder) -> None:
    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    exact = open_session(build_graph(read_weights(model_folder()), quantised=False), 1)
    for sentence, vector in zip(SENTENCES, embedder.embed(SENTENCES), strict=True):
        ids = np.array([tokenizer.encode(sentence).ids], dtype=np.int64)
        mask = np.ones_like(ids)
        reference = exact.run(None, dict(zip(INPUTS, (ids, mask, mask), strict=True)))[0][0]
        assert vector @ reference > (0.99 if " " in sentence else 0.95)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\0", "\ud800 lone", "[PAD] [CLS] [SEP]", "中文 🎉", "'; DROP TABLE users; --", "a" * 2_000_000],
    ids=["empty", "white", "nul", "surrogate", "marks", "wide", "sql", "long"],
)
def test_every_text_has_a_unit_vector(embedder: MiniLmEmbedder, text: str) -> None:
    vectors = embedder.embed([text, "a neighbour"])
    assert np.allclose(lengths(vectors), 1, atol=1e-5)
    assert vectors[1] @ embedder.embed(["a neighbour"])[0] > 0.99999


def test_end_of_long_text_counts(embedder: MiniLmEmbedder) -> None:
    filler = "The committee discussed the agenda and the minutes of the previous meeting at length. "
    plain, ending, topic = embedder.embed(
        [
            filler * 40,
            filler * 20 + "Our dog caught a tennis ball on the beach. " * 40,
            "Our dog caught a tennis ball on the beach.",
        ]
    )
    assert ending @ topic > plain @ topic + 0.25


def test_windows_are_bounded(embedder: MiniLmEmbedder) -> None:
    filler = "The committee discussed the agenda of the meeting. " * (MAX_WINDOWS * 40)
    one, two = embedder.embed([filler + "dogs", filler + "cats " * 500])
    assert np.array_equal(one, two)


def test_threads_share_one_embedder(cache_dir: Path) -> None:
    shared = MiniLmEmbedder(cache_dir)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: shared.embed(SENTENCES), range(16)))
    assert all(np.array_equal(results[0], other) for other in results)


def test_concurrent_builds_succeed(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from resources.minilm.embedder import MiniLmEmbedder;"
        "print(MiniLmEmbedder(pathlib.Path(sys.argv[1])).embed(['text']).shape)"
    )
    root = Path(__file__).parents[2]
    builders = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "new")], cwd=root, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [builder.communicate(timeout=120)[0].strip() for builder in builders] == ["(1, 384)"] * 3
    (graph,) = (tmp_path / "new").iterdir()
    assert "53aa5117" in graph.name
    assert graph.suffix == ".onnx"


def test_unpinned_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ConfigurationError, match="not the file this version was tested with"):
        read_weights(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_weights(tmp_path / "absent")


def test_construction_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from resources.minilm.embedder import MiniLmEmbedder;"
        "MiniLmEmbedder(pathlib.Path(sys.argv[1]));"
        "print([m for m in ('onnx', 'onnxruntime', 'torch', 'tokenizers') if m in sys.modules])"
    )
    root = Path(embedder_minilm.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# Trained on conversations


@pytest.fixture(scope="module")
def trained() -> NeurigraphEmbedder:
    return NeurigraphEmbedder()


def test_trained_weights_are_small_and_named(trained: NeurigraphEmbedder) -> None:
    assert trained.model == "neurigraph-minilm-1"
    assert len(trained._graph()) < 25_000_000
    assert lengths(trained.embed(["Yes.", ""])) == pytest.approx([1, 1], abs=1e-5)


def test_answer_is_found_by_the_question_before_it(trained: NeurigraphEmbedder) -> None:
    """The words before place the answer, and they are not what is embedded."""
    before = [("Ana", "Which instrument does Bo play these days?")]
    question, alone, behind, asked = trained.embed(
        [
            "What instrument does Bo play?",
            in_context("Bo", "Every Tuesday, since March."),
            in_context("Bo", "Every Tuesday, since March.", before),
            in_context(*before[0]),
        ]
    )
    assert question @ behind > question @ alone + 0.1
    assert asked @ behind < 0.9


def test_own_weights_have_a_name_of_their_own(trained: NeurigraphEmbedder, tmp_path: Path) -> None:
    file = tmp_path / "ours.onnx"
    file.write_bytes(trained._graph())
    own = OwnEmbedder(file)
    assert own.model.startswith("ours-")
    assert np.array_equal(own.embed(SENTENCES), trained.embed(SENTENCES))
    with pytest.raises(ConfigurationError, match="NEURIGRAPH_MINILM_GRAPH"):
        OwnEmbedder(tmp_path / "none.onnx")


def other_graph(dimensions: int, inputs: Sequence[str]) -> bytes:
    """A graph of another model: each text's sum of token ids, in every dimension."""
    given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs]
    nodes = [
        helper.make_node("Cast", [inputs[0]], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["numbers", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "ones"], ["embedding"]),
    ]
    constants = [
        numpy_helper.from_array(np.array([1]), "axis"),
        numpy_helper.from_array(np.ones((1, dimensions), np.float32), "ones"),
    ]
    found = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", dimensions])]
    graph = helper.make_graph(nodes, "other", given, found, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("kind", ["empty", "rubbish", "cut", "other dimension", "other inputs"])
def test_file_that_is_no_graph_is_named(trained: NeurigraphEmbedder, tmp_path: Path, kind: str) -> None:
    content = {
        "empty": b"",
        "rubbish": b"no graph at all",
        "cut": trained._graph()[:1_000_000],
        "other dimension": other_graph(128, INPUTS),
        "other inputs": other_graph(384, INPUTS[:1]),
    }
    (file := tmp_path / "ours.onnx").write_bytes(content[kind])
    with pytest.raises(ConfigurationError, match=r"ours\.onnx, which NEURIGRAPH_MINILM_GRAPH names, is no graph"):
        OwnEmbedder(file).embed(["Hello."])


def test_changed_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "neurigraph-minilm-1.onnx").write_bytes(b"other weights")
    (tmp_path / "tokenizer.json").write_bytes((Path(embedder_minilm.__file__).parent / "tokenizer.json").read_bytes())
    monkeypatch.setattr(embedder_minilm, "_HERE", tmp_path)
    with pytest.raises(ConfigurationError, match="install Neurigraph again"):
        NeurigraphEmbedder().embed(["Hello."])
