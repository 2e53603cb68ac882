"""A TCP balancer on loopback: each connection goes to the next server, or the one after it if that does not answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle

from neurigraph_pipelines.settings import Settings
from tests.support.command_line import PROGRAM, environment


@contextmanager
def api_processes(settings: Settings, number: int, **more: str) -> Iterator[list[tuple[str, subprocess.Popen[str]]]]:
    """Run ``neurigraph admin serve`` so many times on one installation; yields addresses and processes."""
    with ExitStack() as stack:
        processes = []
        for _ in range(number):
            process = subprocess.Popen(
                [PROGRAM, "admin", "serve", "--port", "0", "--json"],
                env=environment(settings, **more),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            processes.append(process)
        served = []
        for process in processes:
            assert process.stdout is not None
            served.append((str(json.loads(process.stdout.readline())["url"]), process))
        yield served


@contextmanager
def round_robin(addresses: Sequence[str]) -> Iterator[str]:
    """Balance over HTTP servers; yields the base address."""
    places = [(host, int(port)) for host, port in (one.removeprefix("http://").split(":") for one in addresses)]
    turns = cycle(range(len(places)))

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turns)
        for turn in range(len(places)):
            with suppress(ConnectionError):
                up_reader, up_writer = await asyncio.open_connection(*places[(first + turn) % len(places)])
                await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))
                return
        await _close(writer)

    async def run(started: threading.Event, ending: asyncio.Event) -> None:
        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        started.set()
        async with server:
            await ending.wait()
        # Clients keep connections open; a relay that outlives the loop is a warning in some later test.
        relays = asyncio.all_tasks() - {asyncio.current_task()}
        for one in relays:
            one.cancel()
        await asyncio.gather(*relays, return_exceptions=True)

    port: list[int] = []
    loop, started, ending = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(started, ending),))
    thread.start()
    started.wait()
    try:
        yield f"http://127.0.0.1:{port[0]}"
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join()
        loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(ConnectionError):
            while piece := await reader.read(65_536):
                writer.write(piece)
                await writer.drain()
    finally:
        await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
