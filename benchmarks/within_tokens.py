"""Sources within tokens: the block for a prompt, plain search and four controls, as `neurigraph eval` counts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.quality.measure import ADVERSARIAL, QUICK_LONG_MESSAGES, QUICK_MESSAGES
from benchmarks.quality.questions import beam, locomo
from benchmarks.report import Section, table
from neurigraph_pipelines.runtime.evaluation.asking import BUDGETS, DEPTHS, WAYS, Readers, Result
from neurigraph_pipelines.runtime.evaluation.figures import Circumstances, figures_of
from neurigraph_pipelines.runtime.evaluation.running import ask_samples

_METHOD = """What `neurigraph eval` measures on three conversations of LoCoMo and three chats of BEAM (100,000 tokens
each), one user each, stored by the whole job with its facts, offline: the share of a question's sources within 500,
1,000 and 1,500 tokens, means over questions. *context* is the block of `POST /v1/context`, in which a message counts if
a line quotes or states it, however shortened; *search* are whole messages in the order of `POST /v1/search`; *plain
hybrid* is BM25 and cosine of the same embedder, fused by rank; *everything* is the end of the history; *oracle* the
sources themselves. Each takes what fits, in its order. Not run: answers by a language model from these blocks and
their judgement, for which no model was at hand; the offline model's answers are under *Derived content*."""

_EVIDENCE = Readers(is_asked=False)


def run(bench: Bench) -> Section:
    """Store each data set and ask its questions."""
    sets = {"LoCoMo": locomo(), "BEAM": beam()}
    if bench.quick:
        most = {"LoCoMo": QUICK_MESSAGES, "BEAM": QUICK_LONG_MESSAGES}
        sets = {name: [samples[0].beginning(most[name])] for name, samples in sets.items()}
    rows, said = list[list[str]](), []
    for name, samples in sets.items():
        with bench.installation() as here:
            results = list(ask_samples(here.context, here.cursors, samples, _EVIDENCE, None, bench.say))
            about = Circumstances(name, here.tokens.name, here.language_model.name, here.embedder.model, _EVIDENCE)
        groups = {f"{name}, all": results}
        if name == "LoCoMo":
            groups[f"LoCoMo, without {ADVERSARIAL}"] = [one for one in results if one.asked.category != ADVERSARIAL]
        for group, among in groups.items():
            rows += _rows(group, among, about)
        latency = figures_of(results, about)["latency_ms"]["context"]
        said.append(f"A block took {latency['p50']} ms in the middle and {latency['p95']} at 95 % ({name}).")
    header = ["questions", "how many", "way", *(f"{most:,} tokens" for most in BUDGETS), *(f"@{n}" for n in DEPTHS)]
    return Section("Sources within tokens", _METHOD, f"{table(header, rows)}\n\n{' '.join(said)}")


def _rows(group: str, results: Sequence[Result], about: Circumstances) -> list[list[str]]:
    figures = figures_of(results, about)
    return [
        [
            group,
            str(len(results)),
            way,
            *(f"{share:.3f}" for share in figures["evidence_within_tokens"][way].values()),
            *_shares(figures["evidence_among_first"].get(way)),
        ]
        for way in WAYS
    ]


def _shares(among: dict[str, float] | None) -> list[str]:
    return [f"{among[str(depth)]:.3f}" for depth in DEPTHS] if among else [""] * len(DEPTHS)
