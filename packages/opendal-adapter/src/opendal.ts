import { TieredError, type Clock } from '@tiered/core';

/** The version that this package is tested with. Later ones are linked against glibc 2.38. */
const VERSION = '0.49.2';

/** Retries after the first try. With the delays below they bridge a few seconds. */
const RETRIES = 3;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

/**
 * No request for metadata takes this long. Without a limit a dead connection would hold its place forever.
 */
const REQUEST_TIMEOUT_MS = 60_000;

/** Limit for a piece of a download, or for the upload of a whole object. */
const TRANSFER_TIMEOUT_MS = 120_000;

/**
 * Only requests are limited, not operations: a listing that was left early would hold its place until it is
 * collected.
 */
const OPERATIONS = 2 ** 20;

/** Metadata of a path: the part of OpenDAL's `Metadata` that is used. */
export interface OpenDalMetadata {
  isDirectory(): boolean;
  readonly etag: string | null;
  /** RFC 3339. */
  readonly lastModified: string | null;
  readonly contentLength: bigint | null;
}

/** A path of a listing; the part of OpenDAL's `Entry` that is used. */
export interface OpenDalEntry {
  path(): string;
  metadata(): OpenDalMetadata;
}

/** A listing in progress; the part of OpenDAL's `Lister` that is used. */
export interface OpenDalLister {
  next(): Promise<OpenDalEntry | null>;
}

/** Capabilities of a service; the part of OpenDAL's `Capability` that is used. */
export interface OpenDalCapability {
  readonly list: boolean;
  readonly write: boolean;
  readonly delete: boolean;
  readonly readWithIfMatch: boolean;
  readonly writeWithIfNotExists: boolean;
}

/**
 * The part of OpenDAL's `Operator` that is used, so that the types of this package do not depend on that
 * package.
 */
export interface OpenDalOperator {
  capability(): OpenDalCapability;
  stat(path: string): Promise<OpenDalMetadata>;
  read(
    path: string,
    options: { readonly offset: bigint; readonly size: bigint; readonly ifMatch?: string },
  ): Promise<Uint8Array>;
  write(path: string, content: Buffer, options?: { readonly ifNotExists: boolean }): Promise<unknown>;
  delete(path: string): Promise<void>;
  lister(path: string, options: { readonly recursive: boolean }): Promise<OpenDalLister>;
}

type Layer = object;

interface LayeredOperator extends OpenDalOperator {
  layer(layer: Layer): LayeredOperator;
}

interface OpenDalModule {
  readonly Operator: new (service: string, options: Record<string, string>) => LayeredOperator;
  readonly RetryLayer: new () => {
    jitter: boolean;
    maxTimes: number;
    minDelay: number;
    maxDelay: number;
    build(): Layer;
  };
  readonly TimeoutLayer: new () => { timeout: number; ioTimeout: number; build(): Layer };
  readonly ConcurrentLimitLayer: new (permits: number) => { httpPermits: number; build(): Layer };
}

/**
 * Loads OpenDAL and creates an operator. A remote service gets OpenDAL's own layers: requests have timeouts,
 * are retried if their error is temporary, and at most `concurrency` run at the same time. Local services
 * have no temporary errors.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the package or its binary cannot be loaded. OpenDAL's own
 * error for options that it refuses.
 */
export async function makeOperator(
  service: string,
  options: Record<string, string>,
  { local, concurrency }: { readonly local: boolean; readonly concurrency: number },
): Promise<OpenDalOperator> {
  const { Operator, RetryLayer, TimeoutLayer, ConcurrentLimitLayer } = await load();
  const operator = new Operator(service, options);
  if (local) return operator;
  const limit = new ConcurrentLimitLayer(OPERATIONS);
  limit.httpPermits = concurrency;
  const timeout = new TimeoutLayer();
  timeout.timeout = REQUEST_TIMEOUT_MS;
  timeout.ioTimeout = TRANSFER_TIMEOUT_MS;
  const retry = new RetryLayer();
  retry.jitter = true;
  retry.maxTimes = RETRIES;
  retry.minDelay = FIRST_RETRY_MS;
  retry.maxDelay = LONGEST_RETRY_MS;
  // From the inside out: each attempt has its own timeout.
  return operator.layer(limit.build()).layer(timeout.build()).layer(retry.build());
}

async function load(): Promise<OpenDalModule> {
  try {
    return await import('opendal');
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException | null)?.code === 'ERR_MODULE_NOT_FOUND';
    const problem = missing
      ? 'is not installed'
      : 'is installed, but its binary does not load on this system';
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `The package opendal ${problem}; npm install opendal@${VERSION} (later versions need glibc 2.38).`,
      { cause },
    );
  }
}

/** Calls in OpenDAL, which cannot be stopped: aborted ones go on there, and only this waits for them. */
export class Calls {
  readonly #running = new Set<Promise<unknown>>();

  /** The number of calls that have not ended. */
  get size(): number {
    return this.#running.size;
  }

  /** Counts a call until it ends. */
  add<T>(call: Promise<T>): Promise<T> {
    this.#running.add(call);
    const ended = () => this.#running.delete(call);
    call.then(ended, ended);
    return call;
  }

  /** Waits until all have ended, for at most this many milliseconds. */
  async end(clock: Clock, ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    const timer = new AbortController();
    await Promise.race([Promise.allSettled(this.#running), clock.sleep(ms, timer.signal)]);
    timer.abort();
  }
}
