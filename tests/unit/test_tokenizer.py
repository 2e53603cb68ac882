"""Token counters: accuracy of the estimate, cost of hostile texts, choice of the counter."""

from __future__ import annotations

import hashlib
import json
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.tokens.tokenizer import _PIECE_CHARACTERS, TiktokenCounter, _pieces, token_counter
from resources.tokens.tokenizer import EstimatedCounter as Estimate

ENGLISH = """\
Last summer the four of us drove up the coast without much of a plan. Maria wanted to see the lighthouse where her
grandfather had worked, and I had promised the kids at least one night in a tent. It rained for two days, so we
ended up playing cards in a diner called Harper's, where the owner told us about the flood of 1987. By Thursday the
sky had cleared. We walked along the cliffs, collected far too many shells, and agreed that next year we'd come back
in September, when it's quieter and the rooms are cheaper.
"""
MEETING = """\
Project Manager: Okay, um, so let's go over the agenda, shall we? First the budget, then the remote's casing.
Industrial Designer: Right. We, uh, we looked at rubber and plastic. Rubber's about 3.50 a unit, I think.
Marketing: Mm-hmm. But the survey said, what was it, 75% of people find the current ones ugly.
Project Manager: Yeah, okay. Can you send me those numbers by Friday? And who's talking to the supplier in Eindhoven?
Industrial Designer: I'll do it. I don't think they'll go below twelve thousand pieces, though.
"""
CODE = '''\
def merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join intervals that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


class ConnectionPool:
    def __init__(self, max_size: int = 10, timeout_seconds: float = 2.5) -> None:
        self._connections: deque[Connection] = deque(maxlen=max_size)
        self._timeoutSeconds = timeout_seconds  # HTTP_TIMEOUT is read elsewhere

    def acquire(self):
        while not self._connections:
            self._condition.wait(self._timeoutSeconds)
        return self._connections.popleft()
'''
SQL = """\
SELECT n.node_id, n.node_name, count(r.record_id) AS record_count
FROM neurigraph.graph_index AS n
LEFT JOIN neurigraph.record_index AS r USING (node_id)
WHERE n.user_id = $1 AND n.layer_depth <= 3 AND r.created_at >= now() - interval '30 days'
GROUP BY n.node_id, n.node_name
ORDER BY record_count DESC, n.node_name
LIMIT 50;
"""
CHINESE = (
    "去年夏天我们全家去了云南旅行，第一站是昆明，然后坐火车到大理。妈妈最喜欢洱海边的小镇，她说那里的空气比上海好得多。"
    "我在古城里认识了一位做木雕的老师傅，他告诉我这门手艺已经传了四代人，可是年轻人都不愿意学。昨天下午三点，项目组开会"
    "讨论了新版本的发布计划。王经理认为测试时间太短，至少需要再增加两个星期；李工则担心客户不会接受延期。"
)
JAPANESE = (
    "先週の土曜日、友達と一緒に京都へ行きました。朝早く新幹線に乗って、九時ごろに着きました。清水寺を見てから、"
    "近くの店で抹茶アイスを食べました。来月は大阪で新しい仕事が始まるので、少し緊張しています。"
)
KOREAN = (
    "지난주에 우리는 제주도로 여행을 갔습니다. 날씨가 아주 좋아서 매일 바다를 볼 수 있었어요. 친구는 새로운 회사에서 "
    "일을 시작했는데 동료들이 친절하다고 했습니다. 내일 오후 세 시에 병원 예약이 있어서 일찍 나가야 합니다."
)
RUSSIAN = (
    "Прошлым летом мы всей семьёй поехали на Байкал. Дорога заняла почти четыре дня, но никто не жаловался: из окна "
    "поезда открывались удивительные виды. На совещании мы решили перенести выпуск новой версии на следующий месяц."
)
GERMAN = (
    "Letzten Sommer sind wir mit der ganzen Familie an die Ostsee gefahren. Das Wetter war durchwachsen, aber die "
    "Kinder haben trotzdem jeden Tag im Wasser gespielt. In der Besprechung haben wir beschlossen, die "
    "Veröffentlichung der neuen Version auf nächsten Monat zu verschieben, weil die Qualitätssicherung noch nicht "
    "fertig ist."
)
ARABIC = (
    "في الصيف الماضي سافرنا مع العائلة إلى الإسكندرية. كان الطقس جميلا وكنا نذهب إلى البحر كل يوم. في الاجتماع قررنا "
    "تأجيل إصدار النسخة الجديدة إلى الشهر القادم لأن الاختبارات لم تنته بعد."
)
HINDI = (
    "पिछली गर्मियों में हम पूरे परिवार के साथ शिमला गए थे। मौसम बहुत अच्छा था और बच्चे हर दिन पहाड़ों पर घूमते थे। "
    "मेरी बहन को एक प्रकाशन कंपनी में नई नौकरी मिली है।"
)
EMOJI = (
    "Wow, congrats!! 🎉🎉 So proud of you 😍❤️ Can't wait to see the new place 🏡✨ Let's celebrate on Friday 🍕🍷 "
    "😂😂😂 that picture of the dog 🐶 killed me 👍🏽 see you soon 🙏🔥"
)
MARKDOWN = """\
# Release notes

## 2.4.0 (2024-03-18)

- **Added** `--dry-run` to `deploy`, which prints every step ([#412](https://example.org/issues/412)).
- **Fixed** a crash when `config.yaml` has no `targets:` section.

| setting | default | unit |
| --- | --- | --- |
| `retry_limit` | 5 | attempts |
| `cache_ttl` | 3600 | seconds |

> Upgrading from 1.x? Read the [migration guide](docs/migration.md) first.
"""
ROWS = [
    {"id": i, "name": f"sensor-{i % 7}", "value": round(i * 3.7 % 91, 2), "tags": ["indoor", "v2"], "ok": i % 3 == 0}
    for i in range(40)
]
LOG = "\n".join(
    f"2024-05-07T12:{i:02d}:11.{i * 37 % 1000:03d}Z INFO worker-{i % 4} request "
    f"{hashlib.md5(bytes([i]), usedforsecurity=False).hexdigest()} took {i * 13 % 97} ms status=200 path=/v1/search"
    for i in range(40)
)

# Exact o200k_base counts, by tiktoken 0.14.0.
REFERENCES = {
    "english": (ENGLISH, 119),
    "meeting": (MEETING, 126),
    "code": (CODE, 197),
    "sql": (SQL, 90),
    "chinese": (CHINESE, 122),
    "japanese": (JAPANESE, 82),
    "korean": (KOREAN, 65),
    "russian": (RUSSIAN, 56),
    "german": (GERMAN, 64),
    "arabic": (ARABIC, 51),
    "hindi": (HINDI, 47),
    "emoji": (EMOJI, 57),
    "markdown": (MARKDOWN, 125),
    "json_compact": (json.dumps(ROWS, separators=(",", ":")), 1162),
    "json_indented": (json.dumps(ROWS, indent=2), 2082),
    "log": (LOG, 2066),
}
HOSTILE = ["a", "A", " ", "\n", "-", "中", "😀", "a\u0301", " \n", "\0", "\ud800", " \t", "aB3-", "x ", "'", "\u200d"]


def folder_with_encodings() -> Path | None:
    """Return the file of o200k_base in tiktoken's cache, if it is there."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    file = Path(folder, "fb374d419588a4632f3f557e76b4b70aebbca790") if folder else None
    return file.parent if file is not None and file.exists() else None


@pytest.fixture
def exact() -> TiktokenCounter:
    folder = folder_with_encodings()
    if folder is None:
        pytest.skip("TIKTOKEN_CACHE_DIR names no folder with the encoding o200k_base")
    return TiktokenCounter("o200k_base", folder)


@pytest.mark.parametrize("name", REFERENCES)
def test_estimate_is_within_15_percent(name: str) -> None:
    text, tokens = REFERENCES[name]
    assert Estimate().count(text) == pytest.approx(tokens, rel=0.15)


def test_total_estimate_is_within_5_percent() -> None:
    estimated = sum(Estimate().count(text) for text, _ in REFERENCES.values())
    assert estimated == pytest.approx(sum(tokens for _, tokens in REFERENCES.values()), rel=0.05)


@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
def test_estimate_is_linear(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    started = time.process_time()
    tokens = Estimate().count(text)
    assert time.process_time() - started < 3.0
    assert 0 < tokens <= 2 * len(text)


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=300))
def test_any_text_has_an_estimate(text: str) -> None:
    tokens = Estimate().count(text)
    assert (tokens == 0) == (text == "")
    assert tokens <= 4 * len(text)


@given(st.text(alphabet="ab \n\t中", max_size=60).map(lambda text: text * 4_000))
def test_pieces_are_bounded_and_complete(text: str) -> None:
    pieces = list(_pieces(text))
    assert "".join(pieces) == text
    assert all(len(piece) <= _PIECE_CHARACTERS for piece in pieces)


def test_pieces_begin_with_the_space_before_a_word() -> None:
    pieces = list(_pieces("word  another " * 20_000))
    assert len(pieces) > 5
    assert all(after.startswith(" ") and not before[-1].isspace() for before, after in pairwise(pieces))


def test_missing_encoding_uses_estimate(tmp_path: Path) -> None:
    token_counter("o200k_base", tmp_path, download=False)  # pays for imports
    started = time.process_time()
    counter = token_counter("o200k_base", tmp_path / "absent", download=False)
    assert time.process_time() - started < 0.5
    assert (counter.name, counter.exact) == ("estimate", False)
    assert counter.count("hello") > 0


def test_damaged_encoding_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    file.write_bytes(b"IQ== 0\n")
    assert token_counter("o200k_base", tmp_path, download=False).exact is False
    with pytest.raises(ConfigurationError, match="missing or damaged"):
        TiktokenCounter("o200k_base", tmp_path)
    assert file.read_bytes() == b"IQ== 0\n"


@pytest.mark.parametrize("name", ["gpt2", "nonsense", "", "../../etc/passwd"])
def test_unknown_encoding_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="Unknown token encoding"):
        token_counter(name, tmp_path, download=False)


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_counts_equal_tiktoken(exact: TiktokenCounter, name: str) -> None:
    text, tokens = REFERENCES[name]
    assert exact.count(text) == tokens
    assert (exact.name, exact.exact) == ("tiktoken:o200k_base", True)


def test_special_tokens_are_ordinary_text(exact: TiktokenCounter) -> None:
    assert exact.count("<|endoftext|>") > 1
    assert exact.count("") == 0
    assert exact.count("\ud800") > 0


@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
def test_two_megabytes_are_counted(exact: TiktokenCounter, unit: str) -> None:
    started = time.process_time()
    assert exact.count(unit * (2_000_000 // len(unit))) > 0
    assert time.process_time() - started < 6.0
