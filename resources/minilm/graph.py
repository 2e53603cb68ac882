"""all-MiniLM-L6-v2 as an ONNX graph, built from its weights.

Belongs here: the arithmetic of the model (BERT with 6 layers, mean pooling, normalisation) and its 8-bit form. Weights,
tokenising and running are in ``minilm.embedder``. The architecture is that of Wang et al. 2020, "MiniLM", as published
in sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAPH_VERSION = 4
"""Increased when the graph changes, so that older cached graphs are built again."""

DIMENSIONS = 384
MAX_POSITIONS = 256
HEADS = 12
LAYERS = 6
_EPSILON = 1e-12
INPUTS = ("input_ids", "attention_mask", "counted_mask")
"""The model's inputs: tokens, which of them are no padding, and over which of those the vector is the mean."""
_WEIGHT_LIMIT = 63
"""Weights use 7 of 8 bits: processors without VNNI add pairs of products in 16 bits, which 8-bit weights overflow."""

_FUSED = "com.microsoft"
"""The domain of onnxruntime's own operators."""

Weights = Mapping[str, NDArray[np.float32]]


class _GraphBuilder:
    """Collects nodes and constants; every method returns the name of its output."""

    def __init__(self, weights: Weights, quantised: bool) -> None:
        self.weights = weights
        self.quantised = quantised
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._quantised: set[str] = set()

    def constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def embedding_rows(self, table: NDArray[np.float32], ids: str, output: str) -> str:
        """Look up rows of a table; quantised, each 8-bit row has a scale, which takes a quarter of the size."""
        if not self.quantised:
            return self.node("Gather", [self.constant(f"{output}.table", table), ids], output)
        scale = np.abs(table).max(axis=1, keepdims=True) / 127
        rows = np.round(table / scale).astype(np.int8)
        self.node("Gather", [self.constant(f"{output}.table", rows), ids], f"{output}.rows")
        self.node("Cast", [f"{output}.rows"], f"{output}.float", to=1)
        self.node("Gather", [self.constant(f"{output}.scales", scale.astype(np.float32)), ids], f"{output}.scale")
        return self.node("Mul", [f"{output}.float", f"{output}.scale"], output)

    def linear(self, value: str, prefix: str, output: str) -> str:
        """Compute ``value @ W + b`` with the weights of one layer."""
        product = self._product(value, self.weights[f"{prefix}.weight"].T, f"{output}.product")
        return self.node("Add", [product, self.constant(f"{output}.bias", self.weights[f"{prefix}.bias"])], output)

    def _product(self, value: str, weight: NDArray[np.float32], output: str) -> str:
        """Compute a matrix product; in 8 bits each token's activations and each column of weights have a scale.

        One scale for the whole batch, as in onnxruntime's own quantisation, makes a text's vector depend on its batch
        (cosine 0.97 between two batches). Activations divided by their own maximum share the scale 1 / 127, so
        onnxruntime's fused product can be used.
        """
        if not self.quantised:
            return self.node("MatMul", [value, self.constant(f"{output}.weight", weight)], output)
        scale = (np.abs(weight).max(axis=0) / _WEIGHT_LIMIT).astype(np.float32)
        quantised = self.constant(f"{output}.weight", np.round(weight / scale).astype(np.int8))
        scales = self.constant(f"{output}.scale", scale)
        self.node(
            "MatMulIntegerToFloat",
            [self._in_bytes(value), quantised, "activation_step", scales, "activation_zero"],
            f"{output}.unscaled",
            domain=_FUSED,
        )
        return self.node("Mul", [f"{output}.unscaled", f"{value}.largest"], output)

    def _in_bytes(self, value: str) -> str:
        """Divide each token's activations by the largest and turn them into bytes, once for all products of them."""
        output = f"{value}.bytes"
        if output not in self._quantised:
            self._quantised.add(output)
            self.node("Abs", [value], f"{value}.sizes")
            self.node("ReduceMax", [f"{value}.sizes", "last_axis"], f"{value}.largest", keepdims=1)
            self.node("Div", [value, f"{value}.largest"], f"{value}.unit")
            self.node("QuantizeLinear", [f"{value}.unit", "activation_step", "activation_zero"], output)
        return output

    def layer_norm(self, value: str, prefix: str, output: str) -> str:
        weight = self.constant(f"{output}.weight", self.weights[f"{prefix}.weight"])
        bias = self.constant(f"{output}.bias", self.weights[f"{prefix}.bias"])
        return self.node("LayerNormalization", [value, weight, bias], output, epsilon=_EPSILON, axis=-1)

    def heads(self, value: str, output: str, order: list[int]) -> str:
        """Split the last axis into heads and bring the axes into ``order``."""
        self.node("Reshape", [value, "heads"], f"{output}.split")
        return self.node("Transpose", [f"{output}.split"], output, perm=order)

    def encoder_layer(self, value: str, layer: int) -> str:
        """One layer: self-attention and feed-forward, each added to its input and normalised."""
        prefix, name = f"encoder.layer.{layer}", f"layer{layer}"
        for part in ("query", "key", "value"):
            self.linear(value, f"{prefix}.attention.self.{part}", f"{name}.{part[0]}")
        query = self.heads(f"{name}.q", f"{name}.query", [0, 2, 1, 3])
        key = self.heads(f"{name}.k", f"{name}.key", [0, 2, 3, 1])
        values = self.heads(f"{name}.v", f"{name}.value", [0, 2, 1, 3])
        self.node("MatMul", [query, key], f"{name}.products")
        self.node("Mul", [f"{name}.products", "attention_scale"], f"{name}.scaled")
        self.node("Add", [f"{name}.scaled", "attention_bias"], f"{name}.masked")
        self.node("Softmax", [f"{name}.masked"], f"{name}.attention", axis=-1)
        self.node("MatMul", [f"{name}.attention", values], f"{name}.context_heads")
        self.node("Transpose", [f"{name}.context_heads"], f"{name}.context_split", perm=[0, 2, 1, 3])
        self.node("Reshape", [f"{name}.context_split", "joined"], f"{name}.context")
        attended = self.linear(f"{name}.context", f"{prefix}.attention.output.dense", f"{name}.attended")
        self.node("Add", [attended, value], f"{name}.attended_sum")
        middle = self.layer_norm(f"{name}.attended_sum", f"{prefix}.attention.output.LayerNorm", f"{name}.middle")
        widened = self.linear(middle, f"{prefix}.intermediate.dense", f"{name}.widened")
        activated = self.node("Gelu", [widened], f"{name}.activated")
        narrowed = self.linear(activated, f"{prefix}.output.dense", f"{name}.narrowed")
        self.node("Add", [narrowed, middle], f"{name}.output_sum")
        return self.layer_norm(f"{name}.output_sum", f"{prefix}.output.LayerNorm", f"{name}.output")


def build_graph(weights: Weights, quantised: bool) -> bytes:
    """Build the model.

    Args:
        weights: Tensors by the names of the published safetensors file.
        quantised: Whether matrix products run in 8 bits: 1.7 to 1.9 times the speed and a quarter of the size, for a
            cosine of 0.995 to the exact vector (0.97 for texts of one word).

    Returns:
        A serialised ONNX model: ``INPUTS``, all int64 ``(texts, tokens)`` with at most ``MAX_POSITIONS`` tokens, to
        ``embedding``, float32 ``(texts, DIMENSIONS)`` with rows of unit length.
    """
    from onnx import TensorProto, helper

    graph = _GraphBuilder(weights, quantised)
    _add_constants(graph)
    value = _embedded(graph)
    for layer in range(LAYERS):
        value = graph.encoder_layer(value, layer)

    # The mean over tokens and their sum have the same direction, and the norm is removed.
    graph.node("Cast", ["counted_mask"], "counted", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["counted", "last_axis"], "counted_column")
    graph.node("Mul", [value, "counted_column"], "kept")
    graph.constant("axis_1", np.array([1]))
    graph.node("ReduceSum", ["kept", "axis_1"], "pooled", keepdims=0)
    graph.node("ReduceL2", ["pooled", "axis_1"], "norm", keepdims=1)
    graph.node("Div", ["pooled", "norm"], "embedding")

    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in INPUTS]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", DIMENSIONS])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(_FUSED, 1)],
        ir_version=10,
    )
    return bytes(model.SerializeToString())


def _add_constants(graph: _GraphBuilder) -> None:
    """Add the constants that all layers share, and the attention bias of masked tokens."""
    from onnx import TensorProto

    graph.constant("heads", np.array([0, 0, HEADS, DIMENSIONS // HEADS]))
    graph.constant("joined", np.array([0, 0, DIMENSIONS]))
    graph.constant("last_axis", np.array([-1]))
    if graph.quantised:
        # Activations become unsigned bytes around 128.
        graph.constant("activation_step", np.array(1 / 127, dtype=np.float32))
        graph.constant("activation_zero", np.array(128, dtype=np.uint8))
    graph.constant("attention_scale", np.array((DIMENSIONS / HEADS) ** -0.5, dtype=np.float32))

    # A masked token gets a score so low that softmax gives it no weight.
    graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    graph.node("Sub", [graph.constant("one", np.array(1, dtype=np.float32)), "mask"], "masked_out")
    graph.node("Mul", ["masked_out", graph.constant("very_low", np.array(-1e4, dtype=np.float32))], "low")
    graph.node("Unsqueeze", ["low", graph.constant("axes_1_2", np.array([1, 2]))], "attention_bias")


def _embedded(graph: _GraphBuilder) -> str:
    """Add the embeddings of tokens and positions, normalised."""
    weights = graph.weights
    tokens = graph.embedding_rows(weights["embeddings.word_embeddings.weight"], "input_ids", "tokens")
    places = (
        weights["embeddings.position_embeddings.weight"][:MAX_POSITIONS]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    graph.node("Shape", ["input_ids"], "length", start=1, end=2)
    graph.constant("start", np.array([0]))
    graph.node("Slice", [graph.constant("places", places), "start", "length"], "positions")
    graph.node("Add", [tokens, "positions"], "embedded")
    return graph.layer_norm("embedded", "embeddings.LayerNorm", "normalised")
