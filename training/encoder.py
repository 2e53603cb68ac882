"""MiniLM in torch, for training: the same arithmetic as ``resources.minilm.graph``, on the same names of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from resources.minilm.graph import DIMENSIONS, HEADS, LAYERS, Weights
from resources.minilm.tokens import Tokens

Parameters = Mapping[str, Tensor]
_TEXTS_TOGETHER = 24


def parameters_of(weights: Weights, trained: bool) -> dict[str, Tensor]:
    """Return tensors of the model, by name; those that the graph reads, which leaves out the published pooler."""
    return {
        name: torch.tensor(value, requires_grad=trained)
        for name, value in weights.items()
        if value.dtype == np.float32 and not name.startswith("pooler.")
    }


def encode(parameters: Parameters, texts: Sequence[Tokens]) -> Tensor:
    """Return ``(texts, 384)``: unit vectors, the mean over the tokens that count. Those of like length go together."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index].ids))
    groups = [order[start : start + _TEXTS_TOGETHER] for start in range(0, len(order), _TEXTS_TOGETHER)]
    vectors = torch.cat([_encode(parameters, [texts[index] for index in group]) for group in groups])
    return vectors[torch.tensor(order).argsort()]


def _encode(parameters: Parameters, texts: Sequence[Tokens]) -> Tensor:
    length = max(len(text.ids) for text in texts)
    ids = torch.zeros((len(texts), length), dtype=torch.int64)
    attended = torch.zeros((len(texts), length), dtype=torch.bool)
    counted = torch.zeros((len(texts), length, 1))
    for row, text in enumerate(texts):
        ids[row, : len(text.ids)] = torch.tensor(text.ids)
        attended[row, : len(text.ids)] = True
        counted[row, text.begin : len(text.ids)] = 1
    value = (
        functional.embedding(ids, parameters["embeddings.word_embeddings.weight"])
        + parameters["embeddings.position_embeddings.weight"][:length]
        + parameters["embeddings.token_type_embeddings.weight"][0]
    )
    value = _norm(parameters, "embeddings.LayerNorm", value)
    for layer in range(LAYERS):
        value = _layer(parameters, f"encoder.layer.{layer}", value, attended[:, None, None, :])
    return functional.normalize((value * counted).sum(1).float(), dim=1)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def embed(parameters: Parameters, texts: Sequence[Tokens]) -> NDArray[np.float32]:
    """Return the vectors of any number of texts."""
    with torch.autocast("cpu", torch.bfloat16):
        vectors: NDArray[np.float32] = encode(parameters, texts).numpy()
    return vectors


def _layer(parameters: Parameters, prefix: str, value: Tensor, attended: Tensor) -> Tensor:
    def heads(part: str) -> Tensor:
        projected = _linear(parameters, f"{prefix}.attention.self.{part}", value)
        return projected.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    # Torch's own fused attention takes three times as long on a processor.
    scores = heads("query") @ heads("key").transpose(2, 3) * (DIMENSIONS / HEADS) ** -0.5
    context = scores.masked_fill(~attended, -1e4).softmax(-1).to(scores.dtype) @ heads("value")
    joined = _linear(parameters, f"{prefix}.attention.output.dense", context.transpose(1, 2).flatten(2))
    middle = _norm(parameters, f"{prefix}.attention.output.LayerNorm", joined + value)
    widened = functional.gelu(_linear(parameters, f"{prefix}.intermediate.dense", middle))
    narrowed = _linear(parameters, f"{prefix}.output.dense", widened)
    return _norm(parameters, f"{prefix}.output.LayerNorm", narrowed + middle)


def _linear(parameters: Parameters, prefix: str, value: Tensor) -> Tensor:
    return functional.linear(value, parameters[f"{prefix}.weight"], parameters[f"{prefix}.bias"])


def _norm(parameters: Parameters, prefix: str, value: Tensor) -> Tensor:
    weight, bias = parameters[f"{prefix}.weight"], parameters[f"{prefix}.bias"]
    return functional.layer_norm(value.float(), (DIMENSIONS,), weight, bias, 1e-12)


def state_of(parameters: Parameters) -> dict[str, Any]:
    """Return the weights as arrays, by name."""
    return {name: tensor.detach().numpy() for name, tensor in parameters.items()}
