import type {
  CreateOptions,
  DriverCapabilities,
  DriverUsage,
  ListOptions,
  ObjectStat,
  ObjectWriter,
  Operation,
  OperationOptions,
  PeerReads,
  ReadIntoOptions,
  ReadOptions,
  ReadOutcome,
  ReadRequest,
  IndexHome,
  StorageDriver,
  WriteData,
  WriteOptions,
} from '../driver/driver.js';
import { readEach } from '../driver/helpers.js';
import { closeFor, openFor } from '../driver/open-drivers.js';
import { isAround } from '../driver/ownership.js';

/** One call in flight to the wrapped driver. */
export interface DriverCall<T> {
  readonly operation: Operation;
  /** Key of the object concerned; `''` if there is none (`open`, `list`, `usage`). */
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  /** The caller's memory that a `readInto` fills. */
  readonly target?: Uint8Array | undefined;
  /** Whether the call can be repeated: false for a write whose pieces come only once. */
  readonly repeatable: boolean;
  /** The most bytes of objects that it can transfer; 0 for calls that transfer none. */
  readonly mostBytes: number;
  /** Whether a reader waits for its bytes, as in `ReadIntoOptions`. */
  readonly isWaitedFor?: ReadIntoOptions['isWaitedFor'] | undefined;
  /** Called with bytes that are final before the call ends, as in `ReadIntoOptions`. */
  readonly progress?: ReadIntoOptions['progress'] | undefined;
  /** Makes the call. A given signal or progress listener replaces the caller's. */
  readonly proceed: (signal?: AbortSignal, progress?: ReadIntoOptions['progress']) => Promise<T>;
  /** Returns how many bytes of objects the call transferred, given its result. */
  readonly moved: (result: T) => number;
}

type Run<T> = (signal: AbortSignal | undefined, progress?: ReadIntoOptions['progress']) => Promise<T>;

const NOTHING_MOVED = () => 0;

/**
 * The base class of decorators. Every operation passes through `intercept`, so a decorator is written once
 * and cannot forget a method. `list` passes once per page and once for its end, `readMany` once per request,
 * and a writer once per call. `close` and a writer's `discard` do not pass, because releasing resources must
 * always work.
 */
export abstract class InterceptingDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  protected readonly inner: StorageDriver;

  constructor(inner: StorageDriver) {
    this.inner = inner;
    isAround(this, inner);
    this.name = inner.name;
    this.capabilities = inner.capabilities;
  }

  get identity(): string | undefined {
    return this.inner.identity;
  }

  get location(): string | undefined {
    return this.inner.location;
  }

  get peerReads(): PeerReads | undefined {
    return this.inner.peerReads;
  }

  /** Called instead of every operation; calls `call.proceed()` for the operation itself. */
  protected abstract intercept<T>(call: DriverCall<T>): Promise<T>;

  open({ signal }: OperationOptions): Promise<void> {
    return this.#pass('open', '', signal, (under) => openFor(this, this.inner, { signal: under }));
  }

  close(): Promise<void> {
    return closeFor(this, this.inner);
  }

  stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    return this.#pass('stat', key, signal, (under) => this.inner.stat(key, { signal: under }));
  }

  async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const pages = this.inner.list(options)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const page = await this.#pass('list', '', options.signal, () => pages.next());
        if (page.done === true) return;
        yield page.value;
      }
    } finally {
      await pages.return?.();
    }
  }

  read(key: string, options: ReadOptions): Promise<Uint8Array> {
    const read = (signal: AbortSignal | undefined) => this.inner.read(key, { ...options, signal });
    const { length: mostBytes, isWaitedFor } = options;
    return this.#pass('read', key, options.signal, read, {
      moved: (bytes) => bytes.byteLength,
      mostBytes,
      isWaitedFor,
    });
  }

  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const read: Run<number> = (signal, progress = options.progress) =>
      this.inner.readInto(key, target, { ...options, signal, progress });
    const { progress, isWaitedFor } = options;
    const mostBytes = target.byteLength;
    const moved = (count: number) => count;
    return this.#pass('readInto', key, options.signal, read, {
      moved,
      mostBytes,
      target,
      progress,
      isWaitedFor,
    });
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    return readEach(this, requests, options);
  }

  write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    const write = (signal: AbortSignal | undefined) => this.inner.write(key, data, { ...options, signal });
    return this.#pass('write', key, options.signal, write, {
      moved: () => options.size,
      mostBytes: options.size,
      repeatable: !(Symbol.asyncIterator in data),
    });
  }

  async create(key: string, { size, signal }: CreateOptions): Promise<ObjectWriter> {
    const writer = await this.#pass('create', key, signal, (under) =>
      this.inner.create(key, { size, signal: under }),
    );
    return {
      writeAt: (bytes, { offset, signal: one }) =>
        this.#pass('writeAt', key, one, (under) => writer.writeAt(bytes, { offset, signal: under }), {
          moved: () => bytes.byteLength,
          mostBytes: bytes.byteLength,
        }),
      readInto: (target, { offset, signal: one }) =>
        this.#pass('readInto', key, one, (under) => writer.readInto(target, { offset, signal: under }), {
          moved: (count) => count,
          mostBytes: target.byteLength,
          target,
        }),
      publish: ({ signal: one }) =>
        this.#pass('publish', key, one, (under) => writer.publish({ signal: under }), { repeatable: false }),
      discard: () => writer.discard(),
    };
  }

  delete(key: string, { signal }: OperationOptions): Promise<void> {
    return this.#pass('delete', key, signal, (under) => this.inner.delete(key, { signal: under }));
  }

  usage({ signal }: OperationOptions): Promise<DriverUsage> {
    return this.#pass('usage', '', signal, (under) => this.inner.usage({ signal: under }));
  }

  openIndex({ signal }: OperationOptions): Promise<IndexHome> {
    return this.#pass('openIndex', '', signal, (under) => this.inner.openIndex({ signal: under }));
  }

  #pass<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    run: Run<T>,
    more: Partial<Omit<DriverCall<T>, 'operation' | 'key' | 'signal' | 'proceed'>> = {},
  ): Promise<T> {
    const proceed: DriverCall<T>['proceed'] = (replacement, progress) => run(replacement ?? signal, progress);
    return this.intercept({
      operation,
      key,
      signal,
      proceed,
      moved: NOTHING_MOVED,
      mostBytes: 0,
      repeatable: true,
      ...more,
    });
  }
}
