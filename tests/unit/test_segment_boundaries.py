"""Segment boundaries in generated conversations of known structure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.ingestion.segmentation import PATIENCE, Chunk, Sizes, Split, Turn, split_tail
from neurigraph_pipelines.model import Role

SIZES = Sizes(watch=48, target=50, limit=62)
USER, ASSISTANT, SYSTEM, TOOL = Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL


@dataclass(frozen=True)
class Said:
    """A message as a generator makes it: without a number, and knowing whether it answers a call of its exchange."""

    role: Role
    tokens: int
    calls: bool = False


Exchange = tuple[Said, ...]

tokens = st.integers(0, 25)
large_tokens = st.integers(0, 150)


def exchanges(size: st.SearchStrategy[int]) -> st.SearchStrategy[Exchange]:
    """Questions, then tools in any number of rounds with several calls each, then the response that completes it."""
    question = st.lists(st.builds(Said, st.just(USER), size), min_size=1, max_size=2)
    call = st.lists(st.builds(Said, st.just(ASSISTANT), size, st.just(True)), min_size=1, max_size=2)
    results = st.lists(st.builds(Said, st.just(TOOL), size), min_size=1, max_size=3)
    rounds = st.lists(st.tuples(call, results).map(lambda pair: [*pair[0], *pair[1]]), max_size=3)
    answer = st.lists(st.builds(Said, st.just(ASSISTANT), size), min_size=1, max_size=2)
    return st.tuples(question, rounds, answer).map(
        lambda parts: (*parts[0], *(said for round_ in parts[1] for said in round_), *parts[2])
    )


def conversations(size: st.SearchStrategy[int] = tokens) -> st.SearchStrategy[list[Exchange]]:
    return st.lists(exchanges(size), max_size=25)


def turns_of(conversation: list[Exchange]) -> list[Turn]:
    said = [message for exchange in conversation for message in exchange]
    return [Turn(seq, one.role, one.tokens, True, one.calls) for seq, one in enumerate(said, 1)]


def ends_of(conversation: list[Exchange]) -> list[int]:
    """Numbers of the messages that complete an exchange."""
    ends, seq = [], 0
    for exchange in conversation:
        seq += len(exchange)
        ends.append(seq)
    return ends


def size_of(turns: list[Turn], first: int, last: int) -> int:
    return sum(turn.tokens for turn in turns[first - 1 : last])


def assert_tiles(chunks: tuple[Chunk, ...], turns: list[Turn]) -> None:
    """From the first message on, without gap or overlap, counted right."""
    following = 1
    for chunk in chunks:
        assert chunk.first_message == following <= chunk.last_message <= len(turns)
        assert chunk.tokens == size_of(turns, chunk.first_message, chunk.last_message)
        following = chunk.last_message + 1


def assert_calls_stay_with_results(chunks: tuple[Chunk, ...], turns: list[Turn]) -> None:
    for chunk in chunks:
        behind = turns[chunk.last_message :]
        assert not behind or behind[0].role is not TOOL
        assert not turns[chunk.last_message - 1].calls


@given(conversations(tokens | large_tokens), st.booleans())
def test_chunks_tile_and_keep_tool_calls(conversation: list[Exchange], ended: bool) -> None:
    turns = turns_of(conversation)
    tiling = split_tail(turns, SIZES, ended=ended)
    assert_tiles(tiling.chunks, turns)
    assert_calls_stay_with_results(tiling.chunks, turns)
    left = turns[tiling.chunks[-1].last_message if tiling.chunks else 0 :]
    if ended:
        assert not tiling.waiting
        assert not turns or left, "the last segment of what has ended is never empty"
    else:
        assert tiling.waiting == (sum(turn.tokens for turn in left) >= SIZES.watch)
        assert sum(turn.tokens for turn in left) <= SIZES.limit, "everything is complete: nothing to wait for"


@given(conversations(tokens | large_tokens))
def test_cut_follows_completed_response(conversation: list[Exchange]) -> None:
    turns, ends = turns_of(conversation), ends_of(conversation)
    for chunk in split_tail(turns, SIZES).chunks:
        reach = {end: size_of(turns, chunk.first_message, end) for end in ends if end >= chunk.first_message}
        fitting = {end: size for end, size in reach.items() if size <= SIZES.limit}
        if fitting:
            assert chunk.last_message in fitting
        if any(size >= SIZES.watch for size in fitting.values()):
            assert SIZES.watch <= chunk.tokens <= SIZES.limit
        if late := [end for end, size in fitting.items() if size >= SIZES.target]:
            assert chunk.last_message == late[0], "the first response that completes at the target or behind it"
        elif fitting:
            assert chunk.last_message == max(fitting)


@given(conversations(st.integers(0, 8)))
def test_chunks_start_with_user(conversation: list[Exchange]) -> None:
    turns, ends = turns_of(conversation), ends_of(conversation)
    for chunk in split_tail(turns, SIZES).chunks:
        if all(size_of(turns, a + 1, b) <= SIZES.limit - SIZES.target for a, b in zip([0, *ends], ends, strict=False)):
            assert SIZES.target <= chunk.tokens <= SIZES.limit
            assert chunk.last_message in ends
            assert turns[chunk.first_message - 1].role is USER


@settings(max_examples=60)
@given(conversations(tokens | large_tokens), st.data())
def test_frequent_checks_cut_no_response(conversation: list[Exchange], data: st.DataObject) -> None:
    """A conversation as it comes in, its responses streaming, looked at after every change."""
    turns, ends = turns_of(conversation), ends_of(conversation)
    starts = dict(zip(ends, [1, *(end + 1 for end in ends)], strict=False))
    chunks: list[Chunk] = []
    stored = 0
    for came, turn in enumerate(turns, 1):
        states = [turn]
        if turn.role is ASSISTANT:
            part = data.draw(st.integers(0, turn.tokens), label="streamed")
            # A response of several messages is complete with the last of them.
            states = [replace(turn, tokens=part, complete=False), replace(turn, complete=turn.calls or came in ends)]
        for state in states:
            tiling = split_tail([*turns[stored : came - 1], state], SIZES)
            for chunk in tiling.chunks:
                assert chunk.last_message < came or state.complete, "a message that streams in is never stored"
            chunks += tiling.chunks
            stored = chunks[-1].last_message if chunks else 0
    assert_tiles(tuple(chunks), turns)
    assert_calls_stay_with_results(tuple(chunks), turns)
    for chunk in chunks:
        if chunk.last_message not in ends:
            end = min(end for end in ends if end > chunk.last_message)
            assert size_of(turns, max(starts[end], chunk.first_message), end) > SIZES.limit, "only what is too long"
    rest = split_tail(turns[stored:], SIZES, ended=True)
    assert_tiles((*chunks, *rest.chunks), turns)


@given(st.lists(st.builds(Turn, st.just(0), st.sampled_from(Role), large_tokens, st.booleans(), st.booleans())))
def test_any_messages_are_tiled(shapeless: list[Turn]) -> None:
    turns = [replace(turn, seq=seq) for seq, turn in enumerate(shapeless, 1)]
    for ended in (False, True):
        chunks = split_tail(turns, SIZES, ended=ended).chunks
        assert_tiles(chunks, turns)
        assert all(turns[c.last_message].role is not TOOL for c in chunks if c.last_message < len(turns))
        if chunks and chunks[-1].last_message == len(turns):
            assert not ended
            assert turns[-1].complete


def talk(*sizes: int) -> list[Turn]:
    """User and assistant in turns."""
    return [Turn(seq, ASSISTANT if seq % 2 == 0 else USER, size) for seq, size in enumerate(sizes, 1)]


def cuts(tail: list[Turn], *, ended: bool = False) -> list[tuple[int, int]]:
    return [(chunk.last_message, chunk.tokens) for chunk in split_tail(tail, SIZES, ended=ended).chunks]


def test_open_exchange_waits() -> None:
    assert split_tail(talk(10, 30, 15), SIZES) == Split((), waiting=True)
    calling = [*talk(10, 30, 10), Turn(4, ASSISTANT, 2, calls=True)]
    assert split_tail(calling, SIZES) == Split((), waiting=True)
    assert split_tail([*calling, Turn(5, ASSISTANT, 1)], SIZES) == Split((), waiting=True), "one moment, it is looking"
    assert cuts([*calling, Turn(5, ASSISTANT, 1), Turn(6, USER, 1)]) == [(5, 53)]
    answered = [*calling, Turn(5, TOOL, 3)]
    assert split_tail(answered, SIZES) == Split((), waiting=True)
    assert cuts([*answered, Turn(6, ASSISTANT, 1)]) == [(6, 56)]


def test_system_message_belongs_to_response() -> None:
    assert cuts([*talk(10, 45), Turn(3, SYSTEM, 1), Turn(4, USER, 2)]) == [(3, 56)]


def test_people_answer_each_other() -> None:
    tail = [Turn(seq, USER, 10, author=("Ann", "Ben")[seq % 2]) for seq in range(1, 14)]
    assert cuts(tail) == [(5, 50), (10, 50)]


def test_long_exchange_is_cut_when_complete() -> None:
    running = [
        Turn(1, USER, 5),
        *(Turn(seq, ASSISTANT if seq % 2 == 0 else TOOL, 9, calls=True) for seq in range(2, 10)),
    ]
    assert sum(turn.tokens for turn in running) == 77
    assert split_tail(running, SIZES) == Split((), waiting=True)
    complete = [*running, Turn(10, ASSISTANT, 4)]
    assert cuts(complete) == [(7, 59)], "between a result and the next call"
    assert cuts(complete, ended=True) == [(7, 59)]


def test_endless_exchange_is_cut() -> None:
    endless = [
        Turn(1, USER, 5),
        *(Turn(seq, ASSISTANT if seq % 2 == 0 else TOOL, 9, calls=seq % 2 == 0) for seq in range(2, 16)),
    ]
    assert sum(turn.tokens for turn in endless) > PATIENCE * SIZES.limit
    assert cuts(endless) == [(7, 59)]
    assert split_tail(endless, SIZES).waiting


def test_parallel_tool_results_stay() -> None:
    tail = [
        *(Turn(1, USER, 20), Turn(2, ASSISTANT, 10, calls=True), Turn(3, ASSISTANT, 10, calls=True)),
        *(Turn(4, TOOL, 12), Turn(5, TOOL, 12), Turn(6, ASSISTANT, 1), Turn(7, USER, 1)),
    ]
    assert cuts(tail) == [(1, 20)]


def test_long_tail_is_cut_in_linear_time() -> None:
    tail = talk(*[1] * 200_000)
    assert len(cuts(tail)) == 4_000
