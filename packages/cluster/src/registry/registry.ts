/** A record of a member, as a registry keeps it. */
export interface RegistryEntry {
  /** What it is kept under: one member at a time has it. */
  readonly slot: string;
  /** The process that put it. */
  readonly owner: string;
  /** What the member says of itself. At most 16 KiB as JSON. */
  readonly record: unknown;
}

/** Options of `Registry.put`. */
export interface PutOptions {
  /**
   * Milliseconds after which the record is gone unless it is put again, at least 1,000. Registries whose
   * engine has one time for all records take the one that they were made with.
   */
  readonly ttlMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Says who is there: a table of small records, which expire. It is an engine that exists (a database, a
 * message broker, a list), and never a protocol of ours.
 *
 * A registry is asked now and then, not for each read. When it cannot be reached, its calls reject with
 * `TIERED_UNAVAILABLE`, which is retryable, within some seconds. Members go on with what they know. So it
 * need not be as available as the data.
 */
export interface Registry {
  /** Names it in messages, such as `sqlite:/run/user/1000/tiered/training.db`. Holds no secrets. */
  readonly name: string;
  /** Makes it ready. */
  open(options: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Puts a record, or renews it: a new time, and what is new of it. A slot has one owner until its record
   * expires or its owner leaves.
   * @returns Whether the slot is the owner's now. False if another one has it; nothing is changed then.
   */
  put(entry: RegistryEntry, options: PutOptions): Promise<boolean>;
  /** All records that have not expired, in any order. */
  all(options: { readonly signal?: AbortSignal | undefined }): Promise<readonly RegistryEntry[]>;
  /**
   * Calls `changed` soon after a record was put, changed or removed, as far as the engine tells. It is a hint
   * to look: expiry may bring none, and hints may be lost while the registry cannot be reached.
   * @returns Stops that.
   */
  watch(changed: () => void): () => void;
  /** Removes the record of a slot, if this owner has it. */
  leave(slot: string, owner: string, options: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /** Releases everything. Records stay until they expire. Idempotent. */
  close(): Promise<void>;
}
