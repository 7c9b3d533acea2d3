/**
 * What a driver can do, declared once and frozen. `Hierarchy` checks it before every call, and the
 * conformance suite chooses its cases by it. Every driver has `open`, `close`, `stat`, `read`, `readInto` and
 * `readMany`.
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
   * `read` returns views on memory that the driver keeps. They cost no copy, and must never be written to.
   */
  readonly sharedViews: boolean;
  /** Objects are still there after `close` and `open`. */
  readonly persistent: boolean;
  /** `openIndex` gives a home to an index that all users of this storage share. */
  readonly index: boolean;
  /** An object that is written in parts (`create`) is kept in memory as a whole until it is published. */
  readonly buffersWrites: boolean;
  /**
   * Which threads read files. `native`: threads of the driver's own, as many as are wanted. `node`: Node's
   * thread pool, which has four threads for the whole process unless UV_THREADPOOL_SIZE says otherwise.
   * Undefined where nothing is read from files.
   */
  readonly threads?: 'native' | 'node' | undefined;
  /**
   * The most single reads that are really under way at the same time. Further ones wait for a thread.
   * Undefined where there is no such limit.
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
   * Called for what looks like an object and is not listed, with the reason in words, the same ones for the
   * same reason: a symbolic link out of the storage, for example. Must not throw.
   */
  readonly leftOut?: ((key: string, why: string) => void) | undefined;
}

/** Options of `readInto`. The length of the target says how much is read. */
export interface ReadIntoOptions extends OperationOptions {
  readonly offset: number;
  /**
   * Reads only bytes of this version. A driver that sees another version throws `TIERED_SOURCE_CHANGED`. It
   * looks as closely as it can without a further request: at an open file's times, or with an If-Match.
   * Default: any version.
   */
  readonly version?: string | undefined;
  /**
   * Called while `readInto` is under way, with the number of bytes from the start of the target that are
   * final. Final bytes are the object's, of the version that was asked for, and stay as they are even if the
   * rest fails. A number that is not larger than the last one says nothing new. Drivers that cannot know
   * before the end never call it. No driver calls it once the read has settled. `read` does not call it.
   */
  readonly progress?: ((bytes: number) => void) | undefined;
  /**
   * Promises that nobody transfers or shrinks the target's buffer until the call has settled. A driver's
   * threads may then fill it directly. Otherwise they fill memory of their own, and the bytes are copied from
   * there. Default: false.
   */
  readonly isFixed?: boolean | undefined;
  /**
   * Tells whether somebody waits for the bytes at this moment. What has to let requests wait, such as a
   * source that is shared with other jobs, serves those first. Default: somebody does.
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
   * Several ranges of the object in place of the one at `offset`: pairs of a first byte, counted from
   * `offset`, and a length. Their bytes go into the target one behind the other, and fill it exactly. The
   * outcome is the number of bytes up to the first range that the object cuts short. Default: one range.
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

/** How one read of a batch ended: the number of bytes it gave, or its own error. */
export type ReadOutcome = { readonly bytes: number } | { readonly error: unknown };

/** Options of `write`. */
export interface WriteOptions extends OperationOptions {
  /**
   * The number of bytes that will come. Any other number is `TIERED_SIZE_MISMATCH`, and publishes nothing.
   */
  readonly size: number;
  /**
   * Writes only if there is no object of this key, and throws `TIERED_EXISTS` if there is one. The storage
   * itself decides, so that of several writers at the same time one succeeds. `TIERED_UNSUPPORTED` where the
   * storage cannot do this. Default: false, which replaces an existing object.
   */
  readonly ifAbsent?: boolean | undefined;
  /**
   * Whether the driver may keep the memory of the data, because nobody writes to it any more. So a driver
   * that has objects in memory need not copy them. Default: false.
   */
  readonly isGiven?: boolean | undefined;
}

/**
 * The bytes of an object to be written: at once, in parts that stay as they are until the write has settled,
 * or in pieces that come one by one. Their producer may reuse a piece once the next one is asked for.
 */
export type WriteData = Uint8Array | readonly Uint8Array[] | AsyncIterable<Uint8Array>;

/**
 * Options of `create`. The signal ends `create` itself. The calls of the writer have signals of their own.
 */
export interface CreateOptions extends OperationOptions {
  /** The exact size of the object, in bytes. */
  readonly size: number;
}

/**
 * An object that is being written in parts, in any order. Nobody else sees it until it is published. It ends
 * once, by `publish` or `discard`, and its creator has to call one of them.
 */
export interface ObjectWriter {
  /**
   * Writes bytes at an offset, within the size. Parts may be written at the same time, and must not overlap.
   * A part that failed or was aborted may be written again. The bytes are the caller's again once the call
   * has settled.
   */
  writeAt(bytes: Uint8Array, options: ReadIntoOptions): Promise<void>;
  /**
   * Reads what has been written already. Short only at the end of the object. Bytes that were not written yet
   * have any value.
   */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Makes the object visible under its key, atomically. The caller has written every byte. A driver that sees
   * a missing one throws `TIERED_SIZE_MISMATCH`. After a failure the object may be published all the same,
   * but only on storage whose answer can get lost. `discard` is still to be called then.
   */
  publish(options: OperationOptions): Promise<void>;
  /** Leaves no trace of what was not published. Idempotent, may be called at any time, and never fails. */
  discard(): Promise<void>;
}

/**
 * Locks of whole numbers, 0 to `Number.MAX_SAFE_INTEGER`, between all openings of a storage, in all processes
 * of the machine. The kernel keeps them, and ends those of an opening with it. No call waits. All throw the
 * errors of the system.
 */
export interface HomeLocks {
  /** Has a number alone. Returns false if another opening has it, alone or shared. */
  take(number: number): boolean;
  /** As `take`, but any number of openings may have it this way. */
  share(number: number): boolean;
  /** Lets go of a number. */
  release(number: number): void;
  /** Whether another opening has a number. */
  isTaken(number: number): boolean;
}

/**
 * Where the index of a tier is kept, and which of its members are running. Several processes need this to
 * share a tier without a server. The index itself is a database. This interface covers what only the storage
 * can know.
 */
export interface IndexHome {
  /**
   * Identifies this opening of the storage. No other opening has the same value, in this process or another
   * one. Others see it as running until it is closed or its process ends. They ask the kernel, and do not
   * rely on a number, a name or a time.
   */
  readonly member: string;
  /**
   * Path of the index's file, on a local file system. The file exists, perhaps empty, and is accessible to
   * its owner only.
   */
  readonly path: string;
  /** Whether what was reported as written has to survive a power cut. */
  readonly durable: boolean;
  /** Identifies the present boot of the machine. Undefined if that cannot be known. */
  readonly boot: string | undefined;
  /** Whether the index is on the storage of the tier itself, and takes room there. */
  readonly isOnTier: boolean;
  /**
   * Bytes of a block. On the storage an object takes a multiple of it, and a directory one block. 1 where the
   * storage has no blocks.
   */
  readonly blockBytes: number;
  /** Locks between all openings of the storage. Undefined where the kernel keeps none. */
  readonly locks: HomeLocks | undefined;
  /** Whether the opening behind a member is running. True where that cannot be known. */
  isRunning(member: string): Promise<boolean>;
  /** Every other opening that is running, as far as can be known. */
  others(): Promise<readonly string[]>;
  /** Deletes what a member that no longer runs has left half written. */
  clearUp(member: string): Promise<void>;
  /** Closes what is open of an object that another process deleted. Resolves when it is closed. */
  forget(name: string): Promise<void>;
  /**
   * Removes directories that hold nothing, such as those that a power cut kept and whose objects it lost.
   * Costs a look at each directory. Does nothing where the storage has no directories.
   */
  removeEmptyDirectories(signal?: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** What a driver's objects occupy, measured on the storage itself. */
export interface DriverUsage {
  /** Sum of the objects' sizes, in bytes. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes that the storage could still take. Undefined if it cannot say. */
  readonly freeBytes?: number | undefined;
  /**
   * What the objects take on the storage itself, in bytes: whole blocks, directories, and what the driver
   * keeps beside them. Undefined where the storage cannot say.
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
 * run at the same time. The conformance suite in `@tiered/core/conformance` checks all
 * of this, except for signals that abort while the storage works: it cannot hold a storage up.
 *
 * No member is optional, so that the compiler tells a decorator about a method it forgot. A driver answers
 * what it cannot do with `unsupported(...)`.
 */
export interface StorageDriver {
  /** Names the driver in messages, events and metrics, such as `fs:/data`. Holds no secrets. */
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  /**
   * Where the storage is: the text that stands before the keys, such as `file:///data/` or `s3://bucket/`. It
   * is compared and shown, not fetched, so it is not percent-encoded, and it holds no secrets. Two drivers
   * can reach the same object only if the location of one begins with that of the other, so end it with `/`.
   * It may become more precise with `open`, which may resolve links. Undefined for storage that nobody else
   * can reach, such as memory.
   */
  readonly location: string | undefined;
  /**
   * Names the data behind the location, from one start to the next, where the location alone does not:
   * another file system may be mounted at the same path. Copies and manifests of a storage are valid for the
   * same identity. Begins with the location and a `#`, unless a user has named the data. May change with
   * `open`. Undefined: the location.
   */
  readonly identity: string | undefined;
  /**
   * Of a driver whose reads other workers may answer in place of the storage: what they gave so far.
   * Statistics tell it from what the storage gave. Default: nothing.
   */
  readonly peerReads?: PeerReads | undefined;

  /** Makes the driver ready. May be called again after `close`. */
  open(options: OperationOptions): Promise<void>;

  /** Releases every resource. Idempotent. No operation is running when it is called. */
  close(): Promise<void>;

  /** Describes one object. */
  stat(key: string, options: OperationOptions): Promise<ObjectStat>;

  /** Enumerates objects in pages, each object once, in any order. */
  list(options: ListOptions): AsyncIterable<readonly ObjectStat[]>;

  /**
   * Reads a range. Short only at the end of the object, as pread: an offset at or past the end gives no
   * bytes. The bytes belong to the driver with `sharedViews`, and to the caller otherwise.
   */
  read(key: string, options: ReadOptions): Promise<Uint8Array>;

  /**
   * Reads into the caller's memory and resolves to the number of bytes, short only at the end of the object.
   * Does not touch the target after it has settled, even when it was aborted.
   */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number>;

  /**
   * Makes many `readInto` calls at once, for drivers that do better on batches. Outcome i belongs to request
   * i. Does not reject: an abort is the outcome of the reads that it stopped. No target is touched after it
   * has settled.
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

  /** Measures what the objects occupy. Costs a walk over them where the storage keeps no sum. */
  usage(options: OperationOptions): Promise<DriverUsage>;

  /**
   * Gives the index of a tier a home here. The home is closed before the driver is. Needs the capability
   * `index`.
   */
  openIndex(options: OperationOptions): Promise<IndexHome>;
}

/** The names of what reaches a driver's storage: methods of `StorageDriver`, and of its writers. */
export type Operation =
  | Exclude<keyof StorageDriver, 'name' | 'capabilities' | 'location' | 'identity' | 'peerReads' | 'close'>
  | 'writeAt'
  | 'publish';
