/** A record of a member, as a registry keeps it. */
export interface RegistryEntry {
  /**
   * What it is kept under: one member at a time has it. 1 to 128 letters of ASCII, digits, `-` and `_`, with
   * single dots between them.
   */
  readonly slot: string;
  /** The process that put it. 1 to 256 printable characters of ASCII. */
  readonly owner: string;
  /** What the member says of itself. At most 16 KiB as JSON in UTF-8. */
  readonly record: unknown;
}

/** Options of `Registry.put`. */
export interface PutOptions {
  /**
   * Milliseconds after which the record is gone unless it is put again, at least 1,000. Registries whose
   * engine has one time for all records take the one that they were made with, and refuse a longer one.
   */
  readonly ttlMs: number;
  /** Ends the wait. The record may have been put all the same. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of the other calls of a `Registry`. */
export interface RegistryCallOptions {
  /** Ends the wait. The call may have been made all the same. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Says who is there: a table of small records, which expire. It is an engine that exists (a database, a
 * message broker, a list), and never a protocol of ours.
 *
 * A registry is asked now and then, not for each read. When it cannot be reached, its calls reject with
 * `TIERED_UNAVAILABLE`, which is retryable, within some seconds. Members go on with what they know. So it
 * need not be as available as the data. A put costs about a millisecond on an idle machine, and may be
 * made several times a second.
 *
 * All calls reject with `TIERED_NOT_OPEN` before `open` has resolved, and with `TIERED_CLOSED` after `close`.
 */
export interface Registry {
  /** Names it in messages, such as `sqlite:/run/user/1000/tiered/training.db`. Holds no secrets. */
  readonly name: string;
  /** The longest time that a record may live, in milliseconds; `Infinity` if its engine has no such bound. */
  readonly longestTtlMs: number;
  /** Makes it ready. May be called again if it has rejected. */
  open(options: RegistryCallOptions): Promise<void>;
  /**
   * Puts a record, or renews it: a new time, and what is new of it. A slot has one owner until its record
   * expires or its owner leaves. If the call rejects, the record may have been put; put it again to know.
   * @returns Whether the slot is the owner's now. False if another one has it; nothing is changed then.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a slot, an owner or a time that cannot be,
   * `TIERED_TOO_LARGE` for a record that is too large.
   */
  put(entry: RegistryEntry, options: PutOptions): Promise<boolean>;
  /** All records that have not expired, in any order. */
  all(options: RegistryCallOptions): Promise<readonly RegistryEntry[]>;
  /**
   * Calls `changed` soon after a record was put, changed or removed, as far as the engine tells. It is a hint
   * to look: it may come without a change, also for what this registry itself has put. Expiry may bring none,
   * and hints may be lost while the registry cannot be reached. Nothing is asked while nobody watches.
   * @returns Stops that.
   */
  watch(changed: () => void): () => void;
  /** Removes the record of a slot, if this owner has it. */
  leave(slot: string, owner: string, options: RegistryCallOptions): Promise<void>;
  /** Releases everything. Calls under way reject. Records stay until they expire. Idempotent. */
  close(): Promise<void>;
}
