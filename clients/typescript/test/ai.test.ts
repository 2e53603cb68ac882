// With the real package `ai` and a model without a network, against the server at NEURIGRAPH_URL.
import { generateText, stepCountIs, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, test, vi } from "vitest";
import { memoryMiddleware, memoryTools } from "../src/ai.js";
import { Invalid, Neurigraph, Unreachable } from "../src/index.js";

const client = new Neurigraph();
const away = new Neurigraph({ url: "http://127.0.0.1:9", apiKey: "x", retries: 0 });
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const stop = { unified: "stop", raw: undefined } as const;
vi.setConfig({ testTimeout: 90_000 });

/** A model that answers "Fine.", and keeps what it was sent. */
function model() {
  return new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text: "Fine." }], finishReason: stop, usage, warnings: [] }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Fine." },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: stop, usage },
        ],
      }),
    }),
  });
}

test("the block of memory stands before the messages, in answers and streams", async () => {
  await client.add("My canoe is moored behind the old mill.", { container_tags: ["ai"], wait: 60 });
  const inner = model();
  const wrapped = wrapLanguageModel({ model: inner, middleware: memoryMiddleware(client, { container_tags: ["ai"], budget: 300 }) });
  const asked = { model: wrapped, instructions: "Be brief.", prompt: "Where is my canoe moored?" };
  expect((await generateText(asked)).text).toBe("Fine.");
  expect(await streamText(asked).text).toBe("Fine.");
  for (const { prompt } of [...inner.doGenerateCalls, ...inner.doStreamCalls]) {
    expect(prompt.map((one) => one.role)).toEqual(["system", "system", "user"]);
    expect(prompt[0]!.content).toBe("Be brief.");
    expect(prompt[1]!.content).toContain("old mill");
  }
  expect(inner.doGenerateCalls.length + inner.doStreamCalls.length).toBe(2);
});

test("a model searches and adds", async () => {
  const call = (name: string, input: object) => ({
    content: [{ type: "tool-call" as const, toolCallId: name, toolName: name, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls", raw: undefined } as const,
    usage,
    warnings: [],
  });
  const answers = [
    call("addMemory", { content: "The user's paddle is painted yellow." }),
    call("searchMemory", { query: "Which colour has the paddle?" }),
    call("searchMemory", { query: "" }),
    { content: [{ type: "text" as const, text: "Yellow." }], finishReason: stop, usage, warnings: [] },
  ];
  const inner = new MockLanguageModelV4({ doGenerate: async () => answers.shift()! });
  const { text, steps } = await generateText({
    model: inner,
    tools: memoryTools(client, { container_tags: ["ai"] }),
    stopWhen: stepCountIs(5),
    prompt: "My paddle is yellow. Remember it.",
  });
  expect(text).toBe("Yellow.");
  expect(steps[0]!.toolResults[0]!.output).toMatch(/^[0-9a-f-]{36}$/);
  expect(String(steps[1]!.toolResults[0]!.output)).toContain("painted yellow");
  expect(steps[2]!.content.map((part) => part.type)).toContain("tool-error");
});

test("a server that is away costs the memory and not the answer", async () => {
  const asked = { prompt: "Where is my canoe?", maxRetries: 0 };
  const inner = model();
  const kind = wrapLanguageModel({ model: inner, middleware: memoryMiddleware(away) });
  expect((await generateText({ ...asked, model: kind })).text).toBe("Fine.");
  expect(inner.doGenerateCalls[0]!.prompt.map((one) => one.role)).toEqual(["user"]);
  const strict = wrapLanguageModel({ model: inner, middleware: memoryMiddleware(away, {}, { isRequired: true }) });
  await expect(generateText({ ...asked, model: strict })).rejects.toThrow(Unreachable);
  const wrong = wrapLanguageModel({ model: inner, middleware: memoryMiddleware(client, { budget: 1 }, { isRequired: true }) });
  await expect(generateText({ ...asked, model: wrong })).rejects.toThrow(Invalid);
  await expect(generateText({ ...asked, model: kind, abortSignal: AbortSignal.abort() })).rejects.toThrow();
});
