import {
  isTieredError,
  TieredError,
  type ListOptions,
  type ObjectStat,
  type OperationOptions,
} from '@tiered/core';
import { BaseDriver, type Operation, type ReadOptions, type WriteOptions } from '@tiered/core/driver';
import { configError, invariant, notOpenError, raceAbort } from '@tiered/core/internal';
import { fromOpenDal, isTaken, kindOf } from './errors.js';
import { assertKey, listingPath, problemOf } from './keys.js';
import { Listing } from './listing.js';
import { assertLocated } from './locations.js';
import { readRange, statObject, type Target } from './objects.js';
import { Calls, makeOperator, type OpenDalOperator } from './opendal.js';
import { checkedOptions, type CheckedDriverOptions, type OpenDalDriverOptions } from './options.js';
import { traitsOf, unknownService, type ServiceTraits } from './services.js';
import { assertAtomicFiles, conflict, noConditions, taken } from './writes.js';

/**
 * Milliseconds that `close` waits for aborted calls. Most end well before that, and a call that hangs is not
 * worth a longer wait.
 */
const CLOSE_WAIT_MS = 5_000;

/** Shorter values are names and numbers, not secrets; masking them would make messages unreadable. */
const SHORTEST_SECRET = 4;

/**
 * Reads and writes objects of any service that Apache OpenDAL supports: a source in GCS, Azure or HDFS, or a
 * tier there.
 *
 * **Abort.** A call in OpenDAL cannot be stopped. An aborted call rejects at once and its bytes are dropped,
 * but inside OpenDAL it goes on until it ends or times out. A write is waited for once its bytes are handed
 * over, since they would still be published.
 *
 * **Versions.** Reads are pinned by If-Match where the service supports it, by a check of the file on `fs`,
 * and not at all elsewhere.
 *
 * **Cost.** A read copies its bytes once more than a dedicated driver. A write keeps the whole object in
 * memory.
 */
export class OpenDalDriver extends BaseDriver {
  readonly #options: CheckedDriverOptions;
  readonly #traits: ServiceTraits;
  readonly #calls = new Calls();
  #secrets: readonly string[] = [];
  #opened: OpenDalOperator | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: OpenDalDriverOptions) {
    const checked = checkedOptions(options);
    const { service, operator, name, location, writable } = checked;
    const traits = traitsOf(service);
    const list = operator?.capability().list ?? traits.lists;
    const persistent = !traits.inMemory || operator !== undefined;
    super({ name, location, capabilities: { list, write: writable, delete: writable, persistent } });
    this.#options = checked;
    this.#traits = traits;
  }

  /** Calls in OpenDAL that have not ended, including aborted ones that no caller waits for any more. */
  get callsUnderWay(): number {
    return this.#calls.size;
  }

  /**
   * Loads OpenDAL and creates the operator. Sends no request.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the package `opendal` or its binary is missing, if options
   * are refused, or if the location of the objects is unknown; `TIERED_UNSUPPORTED` if this build of OpenDAL
   * does not have the service, or if the driver is writable and the service is not.
   */
  override open(options: OperationOptions): Promise<void> {
    return super.open(options);
  }

  /** Follows the contract. Waits up to 5 seconds for aborted calls. */
  override close(): Promise<void> {
    return super.close();
  }

  protected override async openStorage({ signal }: OperationOptions): Promise<void> {
    const operator = await raceAbort(this.#operator(), signal);
    assertLocated(this.#options.service, this.location);
    const able = operator.capability();
    if (this.#options.writable && !(able.write && able.delete)) {
      throw new TieredError(
        'TIERED_UNSUPPORTED',
        `${this.name}: this service cannot both write and delete.`,
        {
          driver: this.name,
          operation: 'open',
        },
      );
    }
    this.#opened = operator;
  }

  protected override async closeStorage(): Promise<void> {
    this.#opened = undefined;
    await this.#calls.end(this.#options.clock, CLOSE_WAIT_MS);
  }

  protected override assertKey(_: Operation, key: string): void {
    assertKey(this.#options.prefix + key, key, this.name, this.#traits.files);
  }

  protected async statObject(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    const target = this.#target('stat', key);
    return this.#abortable('stat', key, signal, () => statObject(target));
  }

  /** Leaves out directories, and paths that are not valid keys here. */
  protected override async *listObjects({
    prefix = '',
    signal,
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const operator = this.#running;
    const beginning = this.#options.prefix + prefix;
    const path = listingPath(beginning);
    if (path === undefined) return;
    const under = <T>(work: () => Promise<T>) => this.#abortable('list', '', signal, work);
    const lister = await under(() => operator.lister(path, { recursive: true }));
    const listing = new Listing(operator, lister, (found) => this.#keyOf(found, beginning));
    for (;;) {
      const page = await under(() => listing.nextPage(signal));
      if (page === undefined) return;
      if (page.length > 0) yield page;
    }
  }

  protected async readRange(key: string, options: ReadOptions): Promise<Uint8Array> {
    const target = this.#target('read', key);
    return this.#abortable('read', key, options.signal, () => readRange(target, options));
  }

  /**
   * `ifAbsent` is `TIERED_UNSUPPORTED` where OpenDAL cannot let the service decide, and on `fs`, where
   * OpenDAL checks and then renames. If the answer to a successful write is lost, OpenDAL retries the write,
   * which then fails with `TIERED_EXISTS`.
   */
  protected override async writeObject(key: string, data: Uint8Array, options: WriteOptions): Promise<void> {
    const { operator, path } = this.#target('write', key);
    const { ifAbsent = false } = options;
    if (ifAbsent && (this.#traits.files || !operator.capability().writeWithIfNotExists))
      throw noConditions(this, key);
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    await this.#call('write', key, options.signal, async () => {
      // OpenDAL would notice only when it moves its temporary file in, and would leave that behind.
      const inTheWay = this.#traits.files ? await operator.stat(path).catch(() => undefined) : undefined;
      if (inTheWay?.isDirectory() === true) throw conflict(this, key);
      options.signal?.throwIfAborted();
      await this.#written(operator.write(path, bytes, { ifNotExists: ifAbsent }), key, ifAbsent);
    });
  }

  /** On `fs`, directories that have become empty stay. */
  protected override async deleteObject(key: string, { signal }: OperationOptions): Promise<void> {
    const target = this.#target('delete', key);
    await this.#call('delete', key, signal, async () => {
      try {
        await target.operator.delete(target.path);
      } catch (error) {
        // A directory, or a key below a file: there is no object with this key, as the caller wants.
        if (!this.#traits.files || !(await this.#isMissing(target))) throw error;
      }
    });
  }

  async #operator(): Promise<OpenDalOperator> {
    const { service, config, operator, concurrency, writable } = this.#options;
    if (operator !== undefined || service === undefined) {
      invariant(operator !== undefined, 'neither a service nor an operator was given');
      return operator;
    }
    const options = typeof config === 'function' ? await config() : config;
    for (const [field, value] of Object.entries(options)) {
      // Without the value, which may be a secret in the wrong form.
      if (typeof value !== 'string') throw configError(`options.${field}`, 'text', {});
    }
    this.#secrets = Object.values(options)
      .filter((value) => value.length >= SHORTEST_SECRET)
      .sort((a, b) => b.length - a.length);
    if (this.#traits.files && writable) assertAtomicFiles(options);
    try {
      return await makeOperator(service, { ...options }, { local: this.#traits.local, concurrency });
    } catch (error) {
      const explained = this.#explained(error, 'open', '');
      throw kindOf(error) === 'Unsupported' ? unknownService(this.name, service, explained) : explained;
    }
  }

  /** Rejects as soon as the signal aborts, although the work goes on in OpenDAL. */
  #abortable<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#call(operation, key, signal, work, (call) => raceAbort(call, signal));
  }

  /** Runs work in OpenDAL after a check of the signal, counts it until it ends, and translates its errors. */
  async #call<T>(
    operation: Operation,
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
    waitFor = (call: Promise<T>) => call,
  ): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await waitFor(this.#calls.add(work()));
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#explained(error, operation, key);
    }
  }

  #explained(error: unknown, operation: Operation, key: string): unknown {
    return fromOpenDal(error, { driver: this.name, operation, key, secrets: this.#secrets });
  }

  /** Awaits a write. With `ifAbsent` it fails with the right error if there was an object. */
  async #written(write: Promise<unknown>, key: string, ifAbsent: boolean): Promise<void> {
    try {
      await write;
    } catch (error) {
      throw ifAbsent && isTaken(error) ? taken(this, key) : error;
    }
  }

  #target(operation: Operation, key: string): Target {
    const path = this.#options.prefix + key;
    return { driver: this, operator: this.#running, traits: this.#traits, operation, key, path };
  }

  #keyOf(path: string, beginning: string): string | undefined {
    const { prefix } = this.#options;
    if (!path.startsWith(beginning) || path.length === prefix.length) return undefined;
    return problemOf(path, this.#traits.files) === undefined ? path.slice(prefix.length) : undefined;
  }

  async #isMissing(target: Target): Promise<boolean> {
    try {
      await statObject(target);
      return false;
    } catch (error) {
      return isTieredError(this.#explained(error, 'delete', target.key), 'TIERED_NOT_FOUND');
    }
  }

  get #running(): OpenDalOperator {
    if (this.#opened === undefined) throw notOpenError(this.name);
    return this.#opened;
  }
}
