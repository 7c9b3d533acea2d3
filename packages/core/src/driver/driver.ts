/**
 * The capabilities of a driver, declared once and frozen. `Hierarchy` checks them before every call, and the
 * conformance suite selects its tests by them. Every driver has `open`, `close`, `stat`, `read`, `readInto`
 * and `readMany`.
 */
export interface DriverCapabilities {
  /** `list` enumerates every object. */
  readonly list: boolean;
  /** `write` publishes objects atomically. */
  readonly write: boolean;
  /** `delete` removes objects. */
  readonly delete: boolean;
  /** `usage` measures what the objects occupy. */
  readonly usage: boolean;
  /**
   * `read` returns views of memory that the driver keeps. Views cost no copy, and must never be written to.
   */
  readonly sharedViews: boolean;
  /** Objects survive `close` and `open`. */
  readonly persistent: boolean;
  /** `openIndex` provides a home for an index that all users of this storage share. */
  readonly index: boolean;
  /** An object written in parts (`create`) is held in memory as a whole until it is published. */
  readonly buffersWrites: boolean;
  /**
   * The threads that read files. `native`: the driver's own threads, in any number. `node`: Node's thread
   * pool, which has four threads for the whole process unless UV_THREADPOOL_SIZE says otherwise. Undefined if
   * the driver reads no files.
   */
  readonly threads?: 'native' | 'node' | undefined;
  /**
   * The most single reads that actually run at the same time. Further reads wait for a thread. Undefined if
   * there is no such limit.
   */
  readonly readsAtOnce?: number | undefined;
}

/** An object as its storage describes it. */
export interface ObjectStat {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Identity of the content: an ETag, or mtime + size + inode. Changes whenever the content does. */
  readonly version: string;
}

/** Options of every operation that waits. */
export interface OperationOptions {
  /** Rejects the operation with `signal.reason` as soon as the driver can stop. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `list`. */
export interface ListOptions extends OperationOptions {
  /** Only keys that start with these characters. Default: all. */
  readonly prefix?: string | undefined;
  /**
   * Called for each entry that looks like an object but is not listed, such as a symbolic link out of the
   * storage. Gets the reason in words, always the same words for the same reason. Must not throw.
   */
  readonly leftOut?: ((key: string, why: string) => void) | undefined;
}

/** Options of `readInto`. The length of the target is the length of the read. */
export interface ReadIntoOptions extends OperationOptions {
  readonly offset: number;
  /**
   * Reads only bytes of this version. A driver that sees another version throws `TIERED_SOURCE_CHANGED`. It
   * checks as closely as it can without another request: by the times of an open file, or with an If-Match.
   * Default: any version.
   */
  readonly version?: string | undefined;
  /**
   * Called while `readInto` is in flight, with the number of bytes from the start of the target that are
   * final. Final bytes belong to the object, in the requested version, and do not change even if the rest
   * fails. A number no larger than the last one carries no news. Drivers that cannot know before the end
   * never call it. No driver calls it once the read has settled. `read` does not call it.
   */
  readonly progress?: ((bytes: number) => void) | undefined;
  /**
   * Promises that the target's buffer is neither transferred nor shrunk until the call has settled. A
   * driver's threads may then fill it directly. Otherwise they fill memory of their own, and the bytes are
   * copied from there. Default: false.
   */
  readonly isFixed?: boolean | undefined;
  /**
   * Returns whether a reader is waiting for the bytes at this moment. If requests have to queue, as at a
   * source shared with other jobs, these go first. Default: a reader is waiting.
   */
  readonly isWaitedFor?: (() => boolean) | undefined;
}

/** A range of an object; offset and length are whole numbers of bytes, both at least 0. */
export interface ReadOptions extends ReadIntoOptions {
  readonly length: number;
}

/** One read of a batch, into the caller's memory. */
export interface ReadRequest {
  readonly key: string;
  readonly offset: number;
  readonly target: Uint8Array;
  /**
   * Several ranges of the object instead of the one at `offset`, as pairs of a first byte, counted from
   * `offset`, and a length. Their bytes are packed into the target back to back, and fill it exactly. The
   * outcome is the number of bytes up to the point where the object first cuts a range short. Default: one
   * range.
   */
  readonly pieces?: Float64Array | undefined;
  /**
   * Whether other parts of the same object are likely to be read soon, so that it is worth keeping open.
   * Default: false.
   */
  readonly isPart?: boolean | undefined;
  /** Only bytes of this version, as in `ReadIntoOptions`. Default: any. */
  readonly version?: string | undefined;
}

/** The outcome of one read of a batch: the number of bytes it gave, or its own error. */
export type ReadOutcome = { readonly bytes: number } | { readonly error: unknown };

/** Options of `write`. */
export interface WriteOptions extends OperationOptions {
  /**
   * The announced number of bytes. Any other number fails with `TIERED_SIZE_MISMATCH`, and publishes nothing.
   */
  readonly size: number;
  /**
   * Writes only if no object has this key, and throws `TIERED_EXISTS` if one has. The storage itself decides,
   * so one of several concurrent writers succeeds. Throws `TIERED_UNSUPPORTED` if the storage cannot do this.
   * Default: false, which replaces an existing object.
   */
  readonly ifAbsent?: boolean | undefined;
  /**
   * Whether the driver may keep the memory of the data, because it is no longer written to. A driver that
   * holds objects in memory then need not copy them. Default: false.
   */
  readonly isGiven?: boolean | undefined;
}

/**
 * The bytes of an object to be written: at once, in parts that stay unchanged until the write has settled, or
 * in pieces that come one by one. The producer may reuse a piece once the next one is requested.
 */
export type WriteData = Uint8Array | readonly Uint8Array[] | AsyncIterable<Uint8Array>;

/**
 * Options of `create`. The signal aborts only `create` itself. The calls of the writer have their own
 * signals.
 */
export interface CreateOptions extends OperationOptions {
  /** The exact size of the object, in bytes. */
  readonly size: number;
}

/**
 * An object that is being written in parts, in any order. It is invisible to others until it is published. It
 * ends once, by `publish` or `discard`, and its creator must call one of them.
 */
export interface ObjectWriter {
  /**
   * Writes bytes at an offset, within the size. Parts may be written concurrently, and must not overlap. A
   * part that failed or was aborted may be written again. The bytes are the caller's again once the call has
   * settled.
   */
  writeAt(bytes: Uint8Array, options: ReadIntoOptions): Promise<void>;
  /**
   * Reads bytes that are already written. Short only at the end of the object. Bytes not yet written may have
   * any value.
   */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Makes the object visible under its key, atomically. The caller must have written every byte. A driver
   * that detects a missing one throws `TIERED_SIZE_MISMATCH`. After a failure the object may still be
   * published, but only on storage whose answer can get lost. `discard` must be called in that case too.
   */
  publish(options: OperationOptions): Promise<void>;
  /** Leaves no trace of an unpublished object. Idempotent, never fails, and may be called at any time. */
  discard(): Promise<void>;
}

/**
 * Locks of whole numbers, 0 to `Number.MAX_SAFE_INTEGER`, shared by all openings of a storage, in all
 * processes of the machine. The kernel keeps them, and releases those of an opening when it ends. No call
 * waits. All throw the errors of the system.
 */
export interface HomeLocks {
  /** Locks a number exclusively. Returns false if another opening holds it, exclusively or shared. */
  take(number: number): boolean;
  /** As `take`, but any number of openings may share the lock. */
  share(number: number): boolean;
  /** Releases a number. */
  release(number: number): void;
  /** Whether another opening holds a number. */
  isTaken(number: number): boolean;
}

/**
 * Knows where the index of a tier is kept, and which of its members are running. Several processes need this
 * to share a tier without a server. The index itself is a database. This interface covers only the part that
 * the storage alone can know.
 */
export interface IndexHome {
  /**
   * Identifies this opening of the storage. No other opening has the same value, in this process or another
   * one. Others see it as running until it is closed or its process ends. They ask the kernel, and do not
   * rely on a number, a name or a time.
   */
  readonly member: string;
  /**
   * Path of the index file, on a local file system. The file exists, but may be empty, and only its owner can
   * access it.
   */
  readonly path: string;
  /** Whether acknowledged writes must survive a power cut. */
  readonly durable: boolean;
  /** Identifies the current boot of the machine. Undefined if it cannot be known. */
  readonly boot: string | undefined;
  /** Whether the index is on the storage of the tier itself, and uses its capacity. */
  readonly isOnTier: boolean;
  /**
   * Block size in bytes. An object occupies a multiple of it on the storage, and a directory one block. 1 if
   * the storage has no blocks.
   */
  readonly blockBytes: number;
  /** Locks shared by all openings of the storage. Undefined if the kernel keeps none. */
  readonly locks: HomeLocks | undefined;
  /** Whether the opening behind a member is running. True if that cannot be known. */
  isRunning(member: string): Promise<boolean>;
  /** Every other opening that is running, as far as can be known. */
  others(): Promise<readonly string[]>;
  /** Deletes the half-written data of a member that no longer runs. */
  clearUp(member: string): Promise<void>;
  /** Closes whatever is open of an object that another process deleted. Resolves once it is closed. */
  forget(name: string): Promise<void>;
  /**
   * Removes empty directories, such as those that survived a power cut when their objects did not. Costs a
   * look at each directory. Does nothing if the storage has no directories.
   */
  removeEmptyDirectories(signal?: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The space that a driver's objects occupy, measured on the storage itself. */
export interface DriverUsage {
  /** Sum of the objects' sizes, in bytes. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes that the storage can still take. Undefined if it cannot tell. */
  readonly freeBytes?: number | undefined;
  /**
   * Bytes that the objects occupy on the storage itself: whole blocks, directories, and the driver's own data
   * beside them. Undefined if the storage cannot tell.
   */
  readonly occupiedBytes?: number | undefined;
}

/** Reads that other workers answered, and their bytes. */
export interface PeerReads {
  readonly reads: number;
  readonly bytes: number;
}

/**
 * Storage as the SDK sees it. It is for authors of drivers; loaders use `Hierarchy`.
 *
 * **Contract.** Input arrives validated: keys are non-empty well-formed strings without NUL, ranges are whole
 * numbers, capabilities were checked, and no operation runs before `open` or after `close`. A driver throws
 * `TieredError` for operating faults, and decides whether they are `retryable`. It throws `signal.reason`
 * when it stops because of its signal. A missing object is `TIERED_NOT_FOUND`. Any number of operations may
 * run concurrently. The conformance suite in `@tiered/core/conformance` checks all of this, except for
 * signals that abort while the storage works, because it cannot hold up a storage.
 *
 * No method is optional, so the compiler tells a decorator about a method it forgot. A driver answers
 * unsupported operations with `unsupported(...)`.
 */
export interface StorageDriver {
  /** Names the driver in messages, events and metrics, such as `fs:/data`. Holds no secrets. */
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  /**
   * The location of the storage: the text that precedes the keys, such as `file:///data/` or `s3://bucket/`.
   * It is compared and shown, not fetched, so it is not percent-encoded, and it holds no secrets. Two drivers
   * can reach the same object only if the location of one begins with the location of the other, so end it
   * with `/`. It may become more precise with `open`, which may resolve links. Undefined for storage that no
   * other driver can reach, such as memory.
   */
  readonly location: string | undefined;
  /**
   * Identifies the data behind the location from one start to the next, if the location alone does not:
   * another file system may be mounted at the same path. Copies and manifests of a storage are valid for the
   * same identity. Begins with the location and a `#`, unless a user has named the data. May change with
   * `open`. Undefined: the location is the identity.
   */
  readonly identity: string | undefined;
  /**
   * Reads that other workers have answered so far in place of the storage, for a driver with such peers.
   * Statistics count them apart from reads of the storage. Default: none.
   */
  readonly peerReads?: PeerReads | undefined;

  /** Makes the driver ready. May be called again after `close`. */
  open(options: OperationOptions): Promise<void>;

  /** Releases every resource. Idempotent. Called only while no operation is running. */
  close(): Promise<void>;

  /** Describes one object. */
  stat(key: string, options: OperationOptions): Promise<ObjectStat>;

  /** Enumerates objects in pages, each object once, in any order. */
  list(options: ListOptions): AsyncIterable<readonly ObjectStat[]>;

  /**
   * Reads a range. As with pread, the result is short only at the end of the object: an offset at or past the
   * end gives no bytes. The bytes belong to the driver with `sharedViews`, and to the caller otherwise.
   */
  read(key: string, options: ReadOptions): Promise<Uint8Array>;

  /**
   * Reads into the caller's memory and resolves to the number of bytes, short only at the end of the object.
   * Does not touch the target after the call has settled, even if it was aborted.
   */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number>;

  /**
   * Makes many `readInto` calls at once, for drivers that handle batches better. Outcome i belongs to request
   * i. Never rejects: an abort is the outcome of the reads that it stopped. No target is touched after the
   * call has settled.
   */
  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]>;

  /**
   * Creates or replaces an object, atomically: a reader sees the old object, no object, or the whole new one.
   * A failed or aborted write leaves nothing behind.
   */
  write(key: string, data: WriteData, options: WriteOptions): Promise<void>;

  /**
   * Begins an object that is written in parts; see `ObjectWriter`. A driver for tiers implements this, or
   * uses `bufferedWriter`.
   */
  create(key: string, options: CreateOptions): Promise<ObjectWriter>;

  /** Removes an object. A missing one is no error. */
  delete(key: string, options: OperationOptions): Promise<void>;

  /** Measures the space that the objects occupy. Costs a walk over them if the storage keeps no sum. */
  usage(options: OperationOptions): Promise<DriverUsage>;

  /**
   * Provides a home for the index of a tier. The home is closed before the driver. Requires the capability
   * `index`.
   */
  openIndex(options: OperationOptions): Promise<IndexHome>;
}

/** Names of the operations that reach a driver's storage: methods of `StorageDriver` and of its writers. */
export type Operation =
  | Exclude<keyof StorageDriver, 'name' | 'capabilities' | 'location' | 'identity' | 'peerReads' | 'close'>
  | 'writeAt'
  | 'publish';
