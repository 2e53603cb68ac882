"""A model provider on loopback: OpenAI's protocol, reranking as of Cohere and Voyage, and faults on command.

Belongs here: HTTP, faults, and counting. The bodies of its answers are in ``model_responses``, and the rules that
these follow in ``model_rules``.
Start it in a test with ``ModelProvider()`` as a context manager, or by itself with ``python -m
tests.support.model_provider --port N``.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

from tests.support.model_responses import (
    OPENAI,
    Dialect,
    chat_answer,
    embedding_answer,
    error_answer,
    format_complaint,
    openai_complaint,
    rerank_answer,
    rerank_complaint,
    voyage_complaint,
)
from tests.support.model_rules import answer_chat

FaultKind = Literal[
    "status", "half_body", "invalid_json", "wrong_shape", "refusal", "no_choices", "cut_short", "stall", "reset"
]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one request.

    Attributes:
        kind: ``status`` answers with ``status``; the others break the answer or the connection.
        status: HTTP status of a ``status`` fault.
        code: The error's code, such as ``insufficient_quota``.
        retry_after: Value of the Retry-After header.
        seconds: How long a ``stall`` lasts before a good answer; it ends early with ``mend``.
        answer: What a ``wrong_shape`` answers with: the content of a chat message, or a whole body.
    """

    kind: FaultKind
    status: int = 500
    code: str | None = None
    retry_after: str | None = None
    seconds: float = 0.0
    answer: Any = None


@dataclass(slots=True)
class Request:
    """A received request."""

    path: str
    body: dict[str, Any]
    key: str
    arrived: float

    def asks(self, marker: str, question: str = "") -> bool:
        """Whether it holds ``marker`` in its content and asks ``question``.

        Args:
            question: Names of schemas of wanted answers, ``embeddings``, or empty for any.
        """
        wanted = self.body.get("response_format", {}).get("json_schema", {}).get("name", "embeddings")
        return (not question or wanted in question.split()) and marker in json.dumps(self.body)


@dataclass(slots=True)
class _LastingFault:
    """A lasting fault with all requests of one kind; ``over`` is set when it is mended."""

    marker: str
    question: str
    fault: Fault
    over: threading.Event = field(default_factory=threading.Event)
    held: int = 0


@dataclass
class _State:
    """State shared by the handlers."""

    faults: deque[Fault] = field(default_factory=deque)
    lasting: list[_LastingFault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    running: int = 0
    peak: int = 0
    delay: float = 0.0
    dialect: Dialect = OPENAI
    answer: Callable[[str, str], dict[str, Any]] = answer_chat
    lock: threading.Lock = field(default_factory=threading.Lock)


class ModelProvider:
    """The running server.

    Args:
        port: 0 takes a free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._state = _State()
        state = self._state

        class Handler(_Handler):
            shared = state

        self._server = _Server(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> ModelProvider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.mend()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """Base address for clients."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> list[Request]:
        """All requests so far."""
        with self._state.lock:
            return list(self._state.requests)

    @property
    def peak(self) -> int:
        """The maximum number of concurrent requests so far."""
        return self._state.peak

    def fail_next(self, *faults: Fault) -> None:
        """Let the next requests fail with these faults, in order of arrival."""
        with self._state.lock:
            self._state.faults.extend(faults)

    def fail_when(self, marker: str, fault: Fault, question: str = "") -> None:
        """Let every matching request fail until the fault is mended.

        Args:
            marker: Stands in the content of those requests.
            question: As for ``Request.asks``.
        """
        with self._state.lock:
            self._state.lasting.append(_LastingFault(marker, question, fault))

    def held(self, marker: str) -> int:
        """Return the number of stalled requests with this marker whose client still waits."""
        with self._state.lock:
            return sum(lasting_fault.held for lasting_fault in self._state.lasting if lasting_fault.marker == marker)

    def mend(self, marker: str = "") -> None:
        """End lasting faults with this marker, or all; requests that they hold up are answered."""
        with self._state.lock:
            for lasting_fault in list(self._state.lasting):
                if marker in ("", lasting_fault.marker):
                    lasting_fault.over.set()
                    self._state.lasting.remove(lasting_fault)

    def speak(self, dialect: Dialect) -> None:
        """Answer as another server of the protocol does."""
        self._state.dialect = dialect

    def slow_down(self, seconds: float) -> None:
        """Delay every response by ``seconds`` from now on."""
        self._state.delay = seconds

    def answer_with(self, answer: Callable[[str, str], dict[str, Any]]) -> None:
        """Let a function of the schema's name and the request give the answers of the chat model."""
        self._state.answer = answer

    def reset(self) -> None:
        """Forget requests, faults and delays."""
        self.mend()
        with self._state.lock:
            self._state.faults.clear()
            self._state.requests.clear()
            self._state.peak = self._state.running
            self._state.delay = 0.0
            self._state.dialect = OPENAI
            self._state.answer = answer_chat

    def wait(self) -> None:
        """Serve until interrupted."""
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnecting clients, which many tests use."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or an answer waits 40 ms for the acknowledgement of its own head
    shared: _State

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault, lasting_fault = self._arrive(body)
        try:
            with self._counted():
                time.sleep(self.shared.delay)
                if fault is not None and fault.kind == "stall":
                    self._stall(fault.seconds, lasting_fault)
                    fault = None
                self._answer(body, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _arrive(self, body: dict[str, Any]) -> tuple[Fault | None, _LastingFault | None]:
        """Record the request; return its next fault and lasting fault, if any."""
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        request = Request(self.path, body, key, time.monotonic())
        with self.shared.lock:
            self.shared.requests.append(request)
            if self.shared.faults:
                return self.shared.faults.popleft(), None
            for lasting_fault in self.shared.lasting:
                if request.asks(lasting_fault.marker, lasting_fault.question):
                    return lasting_fault.fault, lasting_fault
        return None, None

    def _stall(self, seconds: float, lasting_fault: _LastingFault | None) -> None:
        """Wait until the time is over, the fault is mended, or the client disconnects."""
        if lasting_fault is None:
            time.sleep(seconds)
            return
        with self.shared.lock:
            lasting_fault.held += 1
        deadline = time.monotonic() + seconds
        while not lasting_fault.over.wait(0.05) and time.monotonic() < deadline and not self._hung_up():
            pass
        with self.shared.lock:
            lasting_fault.held -= 1

    def _hung_up(self) -> bool:
        """Whether the client has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count concurrent requests during the block."""
        with self.shared.lock:
            self.shared.running += 1
            self.shared.peak = max(self.shared.peak, self.shared.running)
        try:
            yield
        finally:
            with self.shared.lock:
                self.shared.running -= 1

    def _answer(self, body: dict[str, Any], fault: Fault | None) -> None:
        """Send a valid response, or the fault."""
        if fault is not None and fault.kind == "status":
            self._send(fault.status, error_answer("scripted fault", fault.code), fault.retry_after)
            return
        status, good = self._good_answer(body)
        if fault is None or status != 200:
            self._send(status, good)
        elif fault.kind == "reset":
            # Closing with unsent lingering data turned off makes the kernel send RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault.kind == "half_body":
            content = json.dumps(good).encode()
            self._head(200, len(content))
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        elif fault.kind == "invalid_json":
            self._send_bytes(200, b'{"choices": [{"message": {"cont')
        else:
            self._send(200, _broken(good, fault))

    def _good_answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Return the response of the service."""
        if self.path == "/v1/chat/completions":
            complaint = format_complaint(body, self.shared.dialect)
            return (
                (400, error_answer(complaint, None))
                if complaint
                else (200, chat_answer(body, self.shared.dialect, self.shared.answer))
            )
        if self.path == "/v1/embeddings":
            voyage = "input_type" in body
            complaint = voyage_complaint(body) if voyage else openai_complaint(body)
            if complaint:
                return 400, {"detail": complaint} if voyage else error_answer(complaint, None)
            return 200, embedding_answer(body, voyage)
        if self.path in ("/v1/rerank", "/v2/rerank"):
            complaint = rerank_complaint(body)
            if complaint:
                return 400, {"detail": complaint} if "top_k" in body else {"message": complaint}
            return 200, rerank_answer(body)
        return 404, error_answer(f"no such path: {self.path}", None)

    def _send(self, status: int, answer: Any, retry_after: str | None = None) -> None:
        self._send_bytes(status, json.dumps(answer).encode(), retry_after)

    def _send_bytes(self, status: int, content: bytes, retry_after: str | None = None) -> None:
        self._head(status, len(content), retry_after)
        self.wfile.write(content)

    def _head(self, status: int, length: int, retry_after: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Log nothing; tests read ``requests``."""


def _broken(good: dict[str, Any], fault: Fault) -> Any:
    """Return a well-formed response of another shape."""
    chat = "choices" in good
    if fault.kind == "no_choices":
        return {**good, "choices": []} if chat else {**good, "data": [], "results": []}
    if fault.kind == "refusal":
        good["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
        return good
    if fault.kind == "cut_short":
        choice = good["choices"][0]
        choice["finish_reason"] = "length"
        choice["message"]["content"] = choice["message"]["content"][:20]
        return good
    if chat:
        good["choices"][0]["message"]["content"] = json.dumps(fault.answer)
        return good
    return fault.answer


def main() -> None:
    parser = argparse.ArgumentParser(description="A model provider on loopback for trying things out.")
    parser.add_argument("--port", type=int, default=8500)
    with ModelProvider(parser.parse_args().port) as provider:
        print(f"OPENAI_BASE_URL={provider.base_url} OPENAI_API_KEY=test", flush=True)
        try:
            provider.wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
