/** A record of a member, as a registry keeps it. */
export interface RegistryEntry {
  /**
   * The key of the record, held by one member at a time. 1 to 128 ASCII letters, digits, `-` and `_`, with
   * single dots between them.
   */
  readonly slot: string;
  /** The process that put it. 1 to 256 printable ASCII characters. */
  readonly owner: string;
  /** The member's description of itself. At most 16 KiB as JSON in UTF-8. */
  readonly record: unknown;
}

/** Options of `Registry.put`. */
export interface PutOptions {
  /**
   * Milliseconds after which the record expires unless it is put again, at least 1,000. A registry whose
   * engine has one lifetime for all records uses the one it was made with, and rejects a longer one.
   */
  readonly ttlMs: number;
  /** Aborts the wait. The record may still have been put. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of the other calls of a `Registry`. */
export interface RegistryCallOptions {
  /** Aborts the wait. The call may still take effect. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Says which members are present: a table of small records, which expire. It uses an existing engine (a
 * database, a message broker, a list), never a protocol of our own.
 *
 * A registry is asked now and then, not for each read. When it cannot be reached, its calls reject within
 * some seconds with `TIERED_UNAVAILABLE`, which is retryable, and members go on with what they know. So it
 * need not be as available as the data. A put costs about a millisecond on an idle machine, and may be made
 * several times a second.
 *
 * All calls reject with `TIERED_NOT_OPEN` before `open` has resolved, and with `TIERED_CLOSED` after `close`.
 */
export interface Registry {
  /** The name used in messages, such as `sqlite:/run/user/1000/tiered/training.db`. Contains no secrets. */
  readonly name: string;
  /** The longest lifetime of a record, in milliseconds; `Infinity` if the engine has no bound. */
  readonly longestTtlMs: number;
  /** Prepares the registry for calls. May be called again after it has rejected. */
  open(options: RegistryCallOptions): Promise<void>;
  /**
   * Puts a record, or renews it with a new lifetime and its new contents. A slot has one owner until its
   * record expires or its owner leaves. If the call rejects, the record may have been put; put it again to
   * know.
   * @returns Whether the owner now has the slot. False if another owner has it; nothing is changed then.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid slot, owner or lifetime, `TIERED_TOO_LARGE`
   * for a record that is too large.
   */
  put(entry: RegistryEntry, options: PutOptions): Promise<boolean>;
  /** All records that have not expired, in any order. */
  all(options: RegistryCallOptions): Promise<readonly RegistryEntry[]>;
  /**
   * Calls `changed` soon after a record was put, changed or removed, as far as the engine reports it. The
   * call is a hint to look. It may come without a change, and for records this registry itself has put.
   * Expiry may bring no hint, and hints may be lost while the registry cannot be reached. The engine is not
   * asked while there is no watcher.
   * @returns A function that stops watching.
   */
  watch(changed: () => void): () => void;
  /** Removes the record of a slot, if this owner has it. */
  leave(slot: string, owner: string, options: RegistryCallOptions): Promise<void>;
  /** Releases everything. Calls in flight reject. Records stay until they expire. Idempotent. */
  close(): Promise<void>;
}
