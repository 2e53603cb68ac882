"""The training itself: questions near the messages that answer them, and plain sentences as near as they were.

In-batch negatives and one hard negative with a temperature (Henderson et al. 2017, "Efficient Natural Language Response
Suggestion"), and beside it the squared difference of the cosines of plain sentences to those of the model before.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from resources.minilm.graph import Weights
from training.encoder import embed, encode, parameters_of, state_of
from training.material import Material
from training.pairs import Pair
from training.plan import Plan


def tune(weights: Weights, material: Material, plan: Plan) -> Weights:
    """Return the weights after the training."""
    torch.manual_seed(plan.seed)
    chance = random.Random(plan.seed)  # noqa: S311 - not a secret
    parameters = parameters_of(weights, trained=True)
    plain_texts = [*material.sentences, *material.subjects]
    before = torch.from_numpy(embed(parameters, plain_texts))
    batches = list(_batches(material.pairs, plan, chance))
    optimizer = torch.optim.AdamW(parameters.values(), lr=plan.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _share_of_rate(step, len(batches)))
    started, losses = time.monotonic(), torch.zeros(2)
    for step, batch in enumerate(batches, 1):
        chosen = _chosen(chance, plan.sentences, range(len(material.sentences)))
        chosen += _chosen(chance, plan.subjects, range(len(material.sentences), len(plain_texts)))
        with torch.autocast("cpu", torch.bfloat16):
            finding = _finding(parameters, material, batch, plan, bare=chance.random() < plan.bare)
            plain = encode(parameters, [plain_texts[index] for index in chosen])
        similar = before[chosen] @ before[chosen].T
        forgetting = functional.mse_loss(plain.float() @ plain.float().T, similar)
        (finding + plan.remembering * forgetting).backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        losses += torch.stack([finding.detach(), forgetting.detach()])
        if step % 25 == 0 or step == len(batches):
            mean = losses / (step % 25 or 25)
            spent = time.monotonic() - started
            print(f"{step}/{len(batches)} {spent:.0f} s {mean[0]:.3f} {mean[1]:.5f}", file=sys.stderr, flush=True)
            losses.zero_()
    return state_of(parameters)


def _batches(pairs: Sequence[Pair], plan: Plan, chance: random.Random) -> Iterator[list[Pair]]:
    """Yield the batches of all passes over the pairs, each pass in an order of its own."""
    size = min(plan.batch, len(pairs))
    left = max(1, round(len(pairs) * plan.epochs / size))
    while left > 0:
        order = list(pairs)
        chance.shuffle(order)
        for start in range(0, len(order) - size + 1, size):
            if left > 0:
                yield order[start : start + size]
            left -= 1


def _chosen(chance: random.Random, most: int, rows: range) -> list[int]:
    return chance.sample(rows, min(most, len(rows)))


def _share_of_rate(step: int, steps: int) -> float:
    warm = max(1, steps // 10)
    return min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))


def _finding(
    parameters: dict[str, Tensor], material: Material, batch: Sequence[Pair], plan: Plan, bare: bool
) -> Tensor:
    """Return the loss of finding each pair's answer among all answers and negatives of the batch."""
    places = [*(pair.answer for pair in batch), *(pair.negative for pair in batch)]
    asked = encode(parameters, [material.asked[pair.asked] for pair in batch])
    found = encode(parameters, [material.messages[place][bare] for place in places])
    scores = asked.float() @ found.float().T * plan.scale
    also = torch.tensor([[place in pair.answers for place in places] for pair in batch])
    also.fill_diagonal_(fill_value=False)
    return functional.cross_entropy(scores.masked_fill(also, -1e4), torch.arange(len(batch)))
