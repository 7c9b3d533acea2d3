import type {
  CreateOptions,
  DriverCapabilities,
  DriverUsage,
  ListOptions,
  ObjectStat,
  ObjectWriter,
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
import { unsupported } from '../driver/helpers.js';
import { configError } from '../support/errors.js';
import { closeFor, openFor } from '../driver/open-drivers.js';
import { isAround } from '../driver/ownership.js';

/**
 * Shows the objects of a driver whose keys start with a prefix, without that prefix. So one bucket or
 * directory serves several datasets. The prefix is prepended to the key unchanged, so end it with `/` if it
 * names a directory.
 *
 * `usage` counts the objects below the prefix, by listing them. Errors name the key as the driver knows it.
 * It has no index for a tier, because an index covers the whole storage. Give a tier that needs an index a
 * directory of its own.
 */
export class PrefixDriver implements StorageDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly #inner: StorageDriver;
  readonly #prefix: string;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for an empty prefix. */
  constructor(inner: StorageDriver, prefix: string) {
    if (prefix.length === 0) throw configError('prefix', 'at least one character', prefix);
    this.#inner = inner;
    isAround(this, inner, prefix);
    this.#prefix = prefix;
    this.name = `${inner.name}/${prefix}`;
    this.capabilities = Object.freeze({
      ...inner.capabilities,
      usage: inner.capabilities.list,
      index: false,
    });
  }

  get location(): string | undefined {
    const { location } = this.#inner;
    return location === undefined ? undefined : location + this.#prefix;
  }

  get identity(): string | undefined {
    const { identity, location = '' } = this.#inner;
    if (identity?.startsWith(location) !== true) return identity && identity + this.#prefix;
    return location + this.#prefix + identity.slice(location.length);
  }

  /** Counts all peer reads of the driver, including those through other prefixes. */
  get peerReads(): PeerReads | undefined {
    return this.#inner.peerReads;
  }

  open(options: OperationOptions): Promise<void> {
    return openFor(this, this.#inner, options);
  }

  close(): Promise<void> {
    return closeFor(this, this.#inner);
  }

  async stat(key: string, options: OperationOptions): Promise<ObjectStat> {
    return { ...(await this.#inner.stat(this.#prefix + key, options)), key };
  }

  async *list({
    prefix = '',
    leftOut,
    signal,
  }: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const options: ListOptions = {
      prefix: this.#prefix + prefix,
      leftOut: leftOut && ((key, why) => leftOut(key.slice(this.#prefix.length), why)),
      signal,
    };
    for await (const page of this.#inner.list(options)) {
      // A key that equals the prefix would be empty here, so it is omitted.
      const objects = page.filter(({ key }) => key.length > this.#prefix.length);
      if (objects.length === 0) continue;
      yield objects.map((object) => ({ ...object, key: object.key.slice(this.#prefix.length) }));
    }
  }

  read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return this.#inner.read(this.#prefix + key, options);
  }

  readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#inner.readInto(this.#prefix + key, target, options);
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    const prefixed = requests.map((request) => ({ ...request, key: this.#prefix + request.key }));
    return this.#inner.readMany(prefixed, options);
  }

  write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    return this.#inner.write(this.#prefix + key, data, options);
  }

  create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    return this.#inner.create(this.#prefix + key, options);
  }

  delete(key: string, options: OperationOptions): Promise<void> {
    return this.#inner.delete(this.#prefix + key, options);
  }

  async usage({ signal }: OperationOptions): Promise<DriverUsage> {
    let bytes = 0;
    let objects = 0;
    for await (const page of this.list({ signal })) {
      objects += page.length;
      for (const { size } of page) bytes += size;
    }
    return { bytes, objects };
  }

  async openIndex(): Promise<IndexHome> {
    throw unsupported(this, 'openIndex');
  }
}
