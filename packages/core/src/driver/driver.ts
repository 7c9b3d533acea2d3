import { untilAborted } from '../support/abort.js';
import { TieredError, type TieredErrorDetails } from '../support/errors.js';

/**
 * What a driver can do, declared once and frozen. Checked before every call (by `Hierarchy`), and it selects the
 * cases of the conformance suite. `open`, `close`, `stat`, `read`, `readInto` and `readMany` every driver can do.
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
  /** `read` returns views on memory that the driver keeps: cheap, and never to be written to. */
  readonly sharedViews: boolean;
  /** Objects are still there after `close` and `open`. */
  readonly persistent: boolean;
  /** `openIndex` gives a home to an index that all who use this storage share. */
  readonly index: boolean;
  /** An object that is written in parts (`create`) is kept in memory, whole, until it is published. */
  readonly buffersWrites: boolean;
  /**
   * Which threads read files: `native` ones, as many as are wanted, or those of `node`, four for all of the process
   * unless UV_THREADPOOL_SIZE says otherwise; `workers` are worker threads that come to their aid where storage is
   * slow. Undefined where nothing is read from files.
   */
  readonly threads?: 'native' | 'workers' | 'node' | undefined;
  /**
   * Single reads that are really under way at the same time, at most, however many are asked for: the others wait for a
   * thread. Undefined where there is no such limit.
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
  /** Rejects the operation with `signal.reason`, as soon as the driver can stop. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `list`. */
export interface ListOptions extends OperationOptions {
  /** Only keys that start with these characters. Default: all. */
  readonly prefix?: string | undefined;
}

/** Where in the object `readInto` starts; the target's length says how much. */
export interface ReadIntoOptions extends OperationOptions {
  readonly offset: number;
  /**
   * Only bytes of this version. If the driver sees that the object is another one it throws `TIERED_SOURCE_CHANGED`;
   * it looks as closely as it can without a request of its own (an open file's times, an If-Match). Default: any.
   */
  readonly version?: string | undefined;
  /**
   * Told while `readInto` is under way how many bytes from the start of the target are final: they are the object's, of
   * the version that was asked for, and will be as they are also if the rest fails. Numbers that do not grow say
   * nothing. Drivers that cannot know before the end never call it, and none calls it once the read has settled. `read`
   * does not call it.
   */
  readonly progress?: ((bytes: number) => void) | undefined;
  /**
   * Whether nobody transfers or shrinks the target's buffer until the call has settled. Then threads of a driver may
   * fill it themselves, where they would else fill memory of their own, from which it is copied. Default: false.
   */
  readonly isFixed?: boolean | undefined;
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
   * Whether other reads are likely to want other parts of the same object soon, so that it is worth keeping open.
   * Default: false.
   */
  readonly isPart?: boolean | undefined;
  /** Only bytes of this version, as in `ReadIntoOptions`. Default: any. */
  readonly version?: string | undefined;
}

/** How one read of a batch ended: so many bytes, or its own error. */
export type ReadOutcome = { readonly bytes: number } | { readonly error: unknown };

/** Options of `write`. */
export interface WriteOptions extends OperationOptions {
  /** How many bytes will come; anything else is `TIERED_SIZE_MISMATCH` and publishes nothing. */
  readonly size: number;
  /**
   * Only if there is no object of this key: else `TIERED_EXISTS`, decided by the storage itself, so that of several who
   * try at the same time one succeeds. `TIERED_UNSUPPORTED` where the storage has no such thing. Default: false, and
   * an object that is there is replaced.
   */
  readonly ifAbsent?: boolean | undefined;
}

/** The bytes of an object to be written: at once, or in pieces. A piece may be reused once the next is asked for. */
export type WriteData = Uint8Array | AsyncIterable<Uint8Array>;

/** Options of `create`. The signal is for `create` itself: what the writer does afterwards has signals of its own. */
export interface CreateOptions extends OperationOptions {
  /** Bytes the object will have, no more and no fewer. */
  readonly size: number;
}

/**
 * An object that is being written in parts, in any order, and that nobody else sees until it is published. Ends once,
 * by `publish` or `discard`; the one who created it sees to that.
 */
export interface ObjectWriter {
  /**
   * Writes bytes at an offset, within the size. Parts may be written at the same time, and none overlaps another; one
   * that failed or was aborted may be written again. The bytes are the caller's again afterwards.
   */
  writeAt(bytes: Uint8Array, options: ReadIntoOptions): Promise<void>;
  /** Reads what has been written already; short only at the end of the object. Bytes not yet written are anything. */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Makes the object visible under its key, atomically. Every byte has been written. A driver that sees that it was
   * not throws `TIERED_SIZE_MISMATCH`. If it fails, the object may have been published all the same only where the
   * answer can get lost; `discard` is still to be called.
   */
  publish(options: OperationOptions): Promise<void>;
  /** Leaves no trace of what was not published. Idempotent, works after everything, and does not fail. */
  discard(): Promise<void>;
}

/**
 * Where the index of a tier is kept, and who of those that use the tier is running: what several processes need to
 * share a tier without a server. The index itself is a database's work; this is what only the storage can know.
 */
export interface IndexHome {
  /**
   * This opening of the storage, unlike any other of this or another process. Others see that it runs for as long as
   * its process does and it is not closed, by what the kernel says and not by a number, a name or a time.
   */
  readonly member: string;
  /** Path of the index's file, on a local file system. The file is there (perhaps empty), for its owner only. */
  readonly path: string;
  /** Whether what is said to be written has to survive a power cut. */
  readonly durable: boolean;
  /** Names the time since the machine was started; undefined if that cannot be known. */
  readonly boot: string | undefined;
  /** Whether the index is on the storage of the tier itself, and takes room there. */
  readonly isOnTier: boolean;
  /** Bytes of a block: what an object takes on the storage is a multiple of it. 1 where there is no such thing. */
  readonly blockBytes: number;
  /**
   * Bytes that the storage took, since it was opened here, for what is no object, such as directories; less what it
   * gave back.
   */
  readonly overheadBytes: number;
  /** Whether the opening behind a member is running; true where that cannot be known. */
  isRunning(member: string): Promise<boolean>;
  /** Every other opening that is running, as far as can be known. */
  others(): Promise<readonly string[]>;
  /** Deletes what a member that is not running any more has left half written. */
  clearUp(member: string): Promise<void>;
  /** Another process deleted an object: lets go of what is open of it, and resolves when that is closed. */
  forget(name: string): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** What a driver's objects occupy, measured on the storage itself. */
export interface DriverUsage {
  /** Sum of the objects' sizes, in bytes. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes that the storage could still take; undefined if it cannot say. */
  readonly freeBytes?: number | undefined;
  /**
   * What the objects take on the storage itself, in bytes: whole blocks, directories, and what the driver keeps beside
   * them. Undefined where the storage cannot say.
   */
  readonly occupiedBytes?: number | undefined;
}

/**
 * Storage as the SDK sees it: for those who write drivers. Loaders use `Hierarchy`.
 *
 * **Contract.** Input arrives validated: keys are non-empty well-formed strings without NUL, ranges are whole
 * numbers, capabilities were checked, and no operation runs before `open` or after `close`. A driver throws
 * `TieredError` for operating faults (with `retryable` decided there), and `signal.reason` when it stops because of
 * its signal. A missing object is `TIERED_NOT_FOUND`. Operations may run at the same time in any number; the
 * conformance suite in `@tiered/core/conformance` checks all of this.
 *
 * No member is optional, so that the compiler tells a decorator about a method it forgot; what a driver cannot do
 * it answers with `unsupported(...)`.
 */
export interface StorageDriver {
  /** For messages, events and metrics, such as `fs:/data`. Holds no secrets. */
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  /**
   * Where the storage is, as what stands before the keys: `file:///data/`, `s3://bucket/`. It is compared and shown,
   * not fetched, so it is not percent-encoded, and it holds no secrets. Two drivers can meet the same object only if
   * the location of one begins with that of the other, so end it with `/`. As far as it is known: links may be
   * resolved by `open`. Undefined for storage that nobody else can reach, such as memory.
   */
  readonly location: string | undefined;

  /** Makes the driver ready. May be called again after `close`. */
  open(options: OperationOptions): Promise<void>;

  /** Lets go of every resource. Idempotent. No operation is running when it is called. */
  close(): Promise<void>;

  /** Describes one object. */
  stat(key: string, options: OperationOptions): Promise<ObjectStat>;

  /** Enumerates objects in pages, in any order, each object once. */
  list(options: ListOptions): AsyncIterable<readonly ObjectStat[]>;

  /**
   * Reads a range. Short only at the end of the object, as pread: an offset at or past the end gives no bytes.
   * With `sharedViews` the bytes belong to the driver; otherwise to the caller.
   */
  read(key: string, options: ReadOptions): Promise<Uint8Array>;

  /**
   * Reads into the caller's memory and resolves to the number of bytes, short only at the end of the object. Does
   * not touch the target after it has settled, also when it was aborted.
   */
  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number>;

  /**
   * Many `readInto` at once, for drivers that do better on batches; outcome i belongs to request i. Does not reject: an
   * abort is the outcome of the reads that it stopped. No target is touched after it has settled.
   */
  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]>;

  /**
   * Creates or replaces an object. Atomic: a reader sees the old object, no object, or the whole new one, and a
   * failed or aborted write leaves nothing behind.
   */
  write(key: string, data: WriteData, options: WriteOptions): Promise<void>;

  /**
   * Begins an object that is written in parts; see `ObjectWriter`. A driver of tiers can do this, or takes
   * `bufferedWriter`.
   */
  create(key: string, options: CreateOptions): Promise<ObjectWriter>;

  /** Removes an object. A missing one is no error. */
  delete(key: string, options: OperationOptions): Promise<void>;

  /** Measures what the objects occupy. Costs a walk over them where the storage keeps no sum. */
  usage(options: OperationOptions): Promise<DriverUsage>;

  /** Gives the index of a tier a home here; it is closed before the driver is. Needs the capability `index`. */
  openIndex(options: OperationOptions): Promise<IndexHome>;
}

/** What reaches a driver's storage: the methods of `StorageDriver`, and those of its writers. */
export type Operation =
  Exclude<keyof StorageDriver, 'name' | 'capabilities' | 'location' | 'close'> | 'writeAt' | 'publish';

/** The error of a driver that was asked for what it cannot do. */
export function unsupported(driver: StorageDriver, operation: Operation): TieredError {
  return new TieredError('TIERED_UNSUPPORTED', `${driver.name} does not support ${operation}.`, {
    driver: driver.name,
    operation,
  });
}

/** The error of a driver that was asked for an object that is not there. */
export function notFound(
  driver: StorageDriver,
  operation: Operation,
  key: string,
  cause?: unknown,
): TieredError {
  return new TieredError('TIERED_NOT_FOUND', `${driver.name} has no object ${JSON.stringify(key)}.`, {
    cause,
    driver: driver.name,
    operation,
    key,
  });
}

/** The error of a read that asked for a version and found another; `details` are what else is known of it. */
export function versionChanged(
  driver: StorageDriver,
  operation: Operation,
  key: string,
  details: Pick<TieredErrorDetails, 'cause' | 'attempts'> = {},
): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${driver.name}: ${JSON.stringify(key)} was changed since it was listed.`,
    { ...details, driver: driver.name, operation, key },
  );
}

/** `readMany` for drivers that have no better way than one `readInto` a request, all under way at once. */
export function readEach(
  driver: StorageDriver,
  requests: readonly ReadRequest[],
  options: OperationOptions,
): Promise<readonly ReadOutcome[]> {
  return Promise.all(
    requests.map(({ key, offset, target, version }) =>
      readOutcome(driver.readInto(key, target, { offset, version, signal: options.signal })),
    ),
  );
}

/** How a read ended, given its promise of the number of bytes. */
export function readOutcome(read: Promise<number>): Promise<ReadOutcome> {
  return read.then(
    (bytes) => ({ bytes }),
    (error: unknown) => ({ error }),
  );
}

/**
 * The pieces of the data of a `write`, checked against the announced size as they pass. An abort ends them at once,
 * also while the one who produces them stands still.
 * @throws TieredError `TIERED_SIZE_MISMATCH` as soon as too much has come, or at the end if too little has.
 */
export async function* checkedPieces(
  driver: StorageDriver,
  key: string,
  data: WriteData,
  options: WriteOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let seen = 0;
  const mismatch = (relation: string) =>
    new TieredError(
      'TIERED_SIZE_MISMATCH',
      `${driver.name}: writing ${JSON.stringify(key)} announced ${options.size} bytes, ${relation}; nothing was published.`,
      { driver: driver.name, operation: 'write', key },
    );
  options.signal?.throwIfAborted();
  for await (const piece of data instanceof Uint8Array ? [data] : untilAborted(data, options.signal)) {
    options.signal?.throwIfAborted();
    seen += piece.byteLength;
    if (seen > options.size) throw mismatch(`but at least ${seen} came`);
    yield piece;
  }
  if (seen < options.size) throw mismatch(`but only ${seen} came`);
}

/**
 * The pieces of the data of a `write` as one, for drivers that write an object at once; data that is one piece already
 * is not copied.
 * @param allocate Memory for all of them.
 */
export async function gathered(
  pieces: AsyncIterable<Uint8Array>,
  data: WriteData,
  allocate: () => Uint8Array,
): Promise<Uint8Array> {
  const whole = data instanceof Uint8Array ? data : allocate();
  let filled = 0;
  for await (const piece of pieces) {
    if (piece !== whole) whole.set(piece, filled);
    filled += piece.byteLength;
  }
  return whole;
}

/**
 * A writer for drivers that can only `write` whole objects: keeps all parts in memory until they are published. Such a
 * driver's `create` looks at its signal, and returns this.
 */
export function bufferedWriter(driver: StorageDriver, key: string, { size }: CreateOptions): ObjectWriter {
  const bytes = new Uint8Array(size);
  return writerInto(bytes, ({ signal }) => driver.write(key, bytes, { size, signal }));
}

/** A writer whose parts go into memory that is published at the end. */
export function writerInto(bytes: Uint8Array, publish: ObjectWriter['publish']): ObjectWriter {
  return {
    writeAt: async (part, { offset, signal }) => {
      signal?.throwIfAborted();
      bytes.set(part, offset);
    },
    readInto: async (target, { offset, signal }) => {
      signal?.throwIfAborted();
      const range = bytes.subarray(offset, offset + target.byteLength);
      target.set(range);
      return range.byteLength;
    },
    publish,
    discard: async () => undefined,
  };
}
