"""The check of recorded ratios: what it reads from the page, and when it fails."""

from __future__ import annotations

from benchmarks.ratios import compare, read_ratios

PAGE = """<!-- begin pipeline -->
| conversations in a batch | records/s | plain table ÷ job |
| --- | --- | --- |
| 10 | 1.91 | 539 (341–781) |

| step | share |
| --- | --- |
| 10 | 3% |
<!-- end pipeline -->
<!-- begin quality -->
| questions | how many | ranking | @1 | @10 |
| --- | --- | --- | --- | --- |
| BEAM | 54 | BM25 alone | 0.1 | 0.2 |
| BEAM | 54 | Neurigraph | 0.3 | 0.5 |
<!-- end quality -->
"""
JOB, RECALL = "pipeline: 10, plain table ÷ job", "quality: BEAM, *, Neurigraph, @10"


def test_ratios_are_read_from_the_page() -> None:
    found = read_ratios(PAGE)
    assert found == {
        JOB: 539,
        RECALL: 0.5,
        "quality: BEAM, *, Neurigraph, @1": 0.3,
    }


def test_a_tenth_is_tolerated() -> None:
    now = read_ratios(PAGE)
    lines, is_worse = compare({JOB: 500, RECALL: 0.55, "quality: BEAM, *, Neurigraph, @5": 0.4}, now)
    assert not is_worse
    assert [line[:13].rstrip() for line in lines] == ["not recorded", "not measured", "ok", "ok"]
    for before in ({JOB: 480}, {RECALL: 0.56}):
        lines, is_worse = compare(before, now)
        assert is_worse
        assert [line.startswith("WORSE") for line in lines].count(True) == 1
