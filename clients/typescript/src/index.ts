import { Operations } from "./generated/operations.js";
import { Transport, type Settings } from "./transport.js";
import type { Input, Options, Result } from "./types.js";

export * from "./errors.js";
export type { Settings } from "./transport.js";
export type { Input, Item, Options, Result, Views } from "./types.js";

/** A message of a conversation; a text alone is the user's. */
export type Message = NonNullable<Input<"inbox.add_memory">["messages"]>[number] | string;

/** Where a memory comes from, and seconds to wait until it is stored. */
export type AddInput = Omit<Input<"inbox.add_memory">, "messages" | "content" | "wait"> & { wait?: number };

/** What was added; `record_ids` are the memories made of it, if it was waited for. */
export type Added = Result<"inbox.add_memory">;

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

  /** Remember a text, as a note, or messages, as a conversation that is over. Both can be found at once. */
  async add(content: string | Message[], input: AddInput = {}, options: Options = {}): Promise<Added> {
    const { wait, ...source } = input;
    const what = typeof content === "string" ? { content } : { messages: content.map(spoken) };
    const added = await this.inbox.addMemory({ ...source, ...what }, options);
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

  /** The block of memory for a prompt: who the user is, then what concerns the query. */
  context(query: string, fields: Omit<Input<"retrieval.context">, "query"> = {}, options: Options = {}): Promise<Result<"retrieval.context">> {
    return this.retrieval.context({ ...fields, query }, options);
  }

  /** Count what would be erased with a memory, or erase it for good with `dry_run: false`. */
  forget(recordId: string, input: Input<"forgetting.forget_record"> = {}, options: Options = {}): Promise<Result<"forgetting.forget_record">> {
    return this.forgetting.forgetRecord(recordId, { dry_run: true, ...input }, options);
  }

  async #stored(added: Added, seconds: number, options: Options): Promise<Added> {
    const until = Date.now() + seconds * 1000;
    for (;;) {
      const wait = Math.min(LONGEST_WAIT, Math.max(0.1, (until - Date.now()) / 1000));
      const found =
        added.source_kind === "note"
          ? await this.inbox.noteState(added.source_id, { wait }, options)
          : await this.inbox.conversationState(added.source_id, { wait }, options);
      if (found.state === "stored") return { ...added, state: found.state, record_ids: found.record_ids };
      if (found.state === "failed" || Date.now() >= until) {
        throw new Error(`the ${added.source_kind} ${added.source_id} is ${found.state} after ${seconds} s`);
      }
    }
  }
}

function spoken(message: Message): Exclude<Message, string> {
  return typeof message === "string" ? { role: "user", content: message } : message;
}
