// Against a real server that fails on command.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { Neurigraph, Unavailable, Unreachable } from "../src/index.js";

vi.setConfig({ testTimeout: 60_000 });

type Answer = (request: IncomingMessage, response: ServerResponse, attempt: number) => void;

async function withServer(answer: Answer, use: (client: Neurigraph, keys: unknown[]) => Promise<void>): Promise<void> {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    request.resume();
    keys.push(request.headers["idempotency-key"]);
    answer(request, response, keys.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    await use(new Neurigraph({ url, apiKey: "key", retries: 2 }), keys);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const busy: Answer = (_, response) => response.writeHead(503, { "Retry-After": "0.01" }).end("busy");
const good: Answer = (_, response) => response.writeHead(200).end('{"source_id":"1"}');

test("a change is repeated under one key", async () => {
  await withServer(
    (request, response, attempt) => (attempt === 1 ? busy(request, response, 1) : attempt === 2 ? request.socket.destroy() : good(request, response, 3)),
    async (client, keys) => {
      expect((await client.add("x")).source_id).toBe("1");
      expect(keys.length).toBe(3);
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toBeTruthy();
    },
  );
});

test("the last refusal of a busy server is thrown", async () => {
  await withServer(busy, async (client, keys) => {
    await expect(client.ask("Who?")).rejects.toThrow(Unavailable);
    expect(keys.length).toBe(3);
  });
});

test("what would happen twice is not repeated after an unknown outcome", async () => {
  await withServer(
    (request) => request.socket.destroy(),
    async (client, keys) => {
      await expect(client.access.issueKey({})).rejects.toThrow(Unreachable);
      expect(keys.length).toBe(1);
    },
  );
});

test("a silent server is given up", async () => {
  await withServer(
    () => undefined,
    async (client) => {
      const error = await client.search("x", {}, { timeout: 100 }).catch((fault: unknown) => fault);
      expect(error).toBeInstanceOf(Unreachable);
      expect((error as Unreachable).cause).toMatchObject({ name: "TimeoutError" });
    },
  );
});

test("a signal ends a call at once", async () => {
  const stopping = new AbortController();
  await withServer(
    () => stopping.abort(),
    async (client, keys) => {
      await expect(client.search("x", {}, { signal: stopping.signal })).rejects.toMatchObject({ name: "AbortError" });
      expect(keys.length).toBe(1);
    },
  );
});
