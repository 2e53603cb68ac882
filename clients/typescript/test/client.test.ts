// Against the server at NEURIGRAPH_URL, with an empty memory of its own; something there stores what is handed in.
import { expect, test, vi } from "vitest";
import { Changed, Denied, Invalid, Neurigraph, NotFound, type Item } from "../src/index.js";

const client = new Neurigraph();
vi.setConfig({ testTimeout: 90_000 });

test("a text is added, found, answered with and forgotten", async () => {
  const added = await client.add("The boiler's code is 4711.", { title: "Boiler", wait: 60 });
  const [recordId] = added.record_ids;
  expect(added.source_kind).toBe("note");
  const found = await client.search("code of the boiler", { limit: 3 });
  expect(found.hits[0]?.record_id).toBe(recordId);
  expect((await client.ask("What is the code of the boiler?")).answer).toContain("4711");
  expect((await client.context("boiler")).text).toContain("4711");

  const foreseen = await client.forget(recordId!);
  expect("record_count" in foreseen && foreseen.record_count).toBe(1);
  await client.memories.get(recordId!);
  await client.forget(recordId!, { dry_run: false });
  await expect(client.memories.get(recordId!)).rejects.toThrow(NotFound);
});

test("a conversation is added, read as a stream, and linked", async () => {
  const talk = await client.add(
    ["Dave and I went fishing at Lake Orrin.", { role: "assistant", content: "How many trout did you catch?" }, "Seven."],
    { title: "Fishing", origin: "slack", wait: 60 },
  );
  const note = await client.add("Lake Orrin lies in the north.", { wait: 60 });
  const [recordId, other] = [talk.record_ids[0]!, note.record_ids[0]!];
  const record = await client.memories.get(recordId);
  const file = await client.files.openById(record.file_id!);
  expect(await file.text()).toContain("Lake Orrin");

  const stated = await client.links.state({ relation: "elaborates", from_record_id: other, to_record_id: recordId });
  const ended = await client.links.end(stated.link_id, { valid_until: "2150-01-01T00:00:00Z" });
  expect(ended.ended_at).not.toBeNull();
  const links: Item<"links.of_record", "links">[] = [];
  for await (const link of client.links.ofRecord(recordId, { all: true, limit: 1 })) links.push(link);
  expect(links.map((link) => link.link_id)).toContain(stated.link_id);

  const titles: (string | null)[] = [];
  for await (const one of client.memories.listRecords({ limit: 1 })) titles.push(one.title);
  expect(titles.length).toBeGreaterThanOrEqual(2);
  expect(titles).toContain("Fishing");
});

test("a change of what was changed meanwhile is refused", async () => {
  const [recordId] = (await client.add("The shed is green.", { wait: 60 })).record_ids;
  const { etag } = await client.memories.get(recordId!);
  expect((await client.memories.revise(recordId!, { title: "Shed" }, { etag: etag! })).title).toBe("Shed");
  await expect(client.memories.revise(recordId!, { title: "Hut" }, { etag: etag! })).rejects.toThrow(Changed);
});

test("a file is uploaded once", async () => {
  const file = new File(["The copper gutters were chosen for the boathouse."], "gutters.txt");
  const input = { file, title: "Gutters", metadata: { team: "blue" } };
  const first = await client.inbox.upload(input);
  expect((await client.inbox.upload(input)).upload_id).toBe(first.upload_id);
});

test("a repeated change happens once", async () => {
  const options = { idempotencyKey: crypto.randomUUID() };
  const [first, second] = [await client.inbox.remember({ content: "x y z" }, options), await client.inbox.remember({ content: "x y z" }, options)];
  expect(second).toEqual(first);
});

test("refusals are typed", async () => {
  const refused = await client.search("").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Invalid);
  expect((refused as Invalid).message).toContain("query");
  expect((refused as Invalid).requestId).toBeTruthy();
  await expect(new Neurigraph({ apiKey: "ng_wrong" }).ask("Who?")).rejects.toThrow(Denied);
  await expect(client.links.get(crypto.randomUUID())).rejects.toThrow(NotFound);
  expect(() => new Neurigraph({ apiKey: "" })).toThrow("NEURIGRAPH_API_KEY");
});
