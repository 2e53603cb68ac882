import { Operations } from "./generated/operations.js";
import { Transport, type Settings } from "./transport.js";
import type { Input, Options, Result } from "./types.js";

export * from "./errors.js";
export type { Settings } from "./transport.js";
export type { Input, Item, Options, Result, Views } from "./types.js";

/** What `add` handed in; `record_ids` are the memories made of it, if it was waited for. */
export interface Added {
  kind: "note" | "conversation";
  id: string;
  record_ids: string[];
}

/** A message of a conversation; a text alone is the user's. */
export type Message = Input<"inbox.append_messages">["messages"][number] | string;

/** Where a memory comes from, and seconds to wait until it is stored. */
export type AddInput = Omit<Input<"inbox.open_conversation">, "messages"> & { wait?: number };

const MESSAGES_AT_ONCE = 500;
const LONGEST_WAIT = 20;

/**
 * A user's memory, or the part of it that a key may see.
 *
 * Every operation of the API is a method of its group, such as `client.links.end(id)`; those below are shorter ways to
 * what is done every day. Calls throw `ApiError` or a subclass where the server refuses, and `Unreachable` where it is
 * away. They are repeated after temporary faults, and changes happen once.
 */
export class Neurigraph extends Operations {
  constructor(settings: Settings = {}) {
    super(new Transport(settings));
  }

  /** Remember a text, as a note, or messages, as a conversation. */
  async add(content: string | Message[], input: AddInput = {}, options: Options = {}): Promise<Added> {
    const { wait, ...source } = input;
    const added = typeof content === "string" ? await this.#note(content, source, options) : await this.#talk(content, source, options);
    return wait === undefined ? added : this.#stored(added, wait, options);
  }

  /** Find memories and messages; no file is opened. */
  search(query: string, filters: Omit<Input<"retrieval.search">, "query"> = {}, options: Options = {}): Promise<Result<"retrieval.search">> {
    return this.retrieval.search({ ...filters, query }, options);
  }

  /** Answer a question in words, with citations. */
  ask(query: string, filters: Omit<Input<"retrieval.ask">, "query"> = {}, options: Options = {}): Promise<Result<"retrieval.ask">> {
    return this.retrieval.ask({ ...filters, query }, options);
  }

  /** Count what would be erased with a memory, or erase it for good with `dry_run: false`. */
  forget(recordId: string, input: Input<"forgetting.forget_record"> = {}, options: Options = {}): Promise<Result<"forgetting.forget_record">> {
    return this.forgetting.forgetRecord(recordId, { dry_run: true, ...input }, options);
  }

  async #note(text: string, source: Omit<AddInput, "wait">, options: Options): Promise<Added> {
    const note = await this.inbox.remember({ ...source, text } as Input<"inbox.remember">, options);
    return { kind: "note", id: note.note_id, record_ids: [] };
  }

  async #talk(messages: Message[], source: Omit<AddInput, "wait">, options: Options): Promise<Added> {
    const once = { ...options };
    delete once.idempotencyKey; // one key belongs to one request, and these are several
    const { conversation_id: id } = await this.inbox.openConversation(source, once);
    const made = messages.map((one) => (typeof one === "string" ? { role: "user" as const, content: one } : one));
    for (let first = 0; first < made.length; first += MESSAGES_AT_ONCE) {
      await this.inbox.appendMessages(id, { messages: made.slice(first, first + MESSAGES_AT_ONCE) }, once);
    }
    await this.inbox.endConversation(id, {}, once);
    return { kind: "conversation", id, record_ids: [] };
  }

  async #stored(added: Added, seconds: number, options: Options): Promise<Added> {
    const until = Date.now() + seconds * 1000;
    for (;;) {
      const wait = Math.min(LONGEST_WAIT, Math.max(0.1, (until - Date.now()) / 1000));
      const found =
        added.kind === "note"
          ? await this.inbox.noteState(added.id, { wait }, options)
          : await this.inbox.conversationState(added.id, { wait }, options);
      if (found.state === "stored") return { ...added, record_ids: found.record_ids };
      if (found.state === "failed" || Date.now() >= until) {
        throw new Error(`the ${added.kind} ${added.id} is ${found.state} after ${seconds} s`);
      }
    }
  }
}
