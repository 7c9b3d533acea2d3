// A driver of your own, and the conformance suite that tells whether it keeps the contract: objects in a
// tar-like archive in memory, read-only, so that whatever writes, deletes and measures is refused. Run it:
// node --conditions=tiered-source --import tsx examples/own-driver.ts
import {
  notFound,
  readEach,
  unsupported,
  versionChanged,
  type DriverCapabilities,
  type ListOptions,
  type ObjectStat,
  type Operation,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadRequest,
  type StorageDriver,
} from '@tiered/core';
import { driverConformance } from '@tiered/core/conformance';
import { test } from 'node:test';

interface Entry {
  readonly start: number;
  readonly end: number;
}

class ArchiveDriver implements StorageDriver {
  readonly name = 'archive';
  readonly capabilities: DriverCapabilities = Object.freeze({
    list: true,
    write: false,
    delete: false,
    usage: false,
    sharedViews: true,
    persistent: true,
    index: false,
    buffersWrites: false,
  });
  /** In memory: no other driver can reach it. */
  readonly location = undefined;
  readonly #entries = new Map<string, Entry>();
  #archive = new Uint8Array(0);

  /**
   * Adds or replaces an object, as whoever makes the archive would. The bytes of before stay where they are.
   */
  append(key: string, bytes: Uint8Array): void {
    const start = this.#archive.byteLength;
    const archive = new Uint8Array(start + bytes.byteLength);
    archive.set(this.#archive);
    archive.set(bytes, start);
    this.#archive = archive;
    this.#entries.set(key, { start, end: archive.byteLength });
  }

  async open({ signal }: OperationOptions): Promise<void> {
    signal?.throwIfAborted();
  }

  async close(): Promise<void> {}

  async stat(key: string, { signal }: OperationOptions): Promise<ObjectStat> {
    signal?.throwIfAborted();
    const { start, end } = this.#find('stat', key);
    return { key, size: end - start, version: String(start) };
  }

  async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[]> {
    signal?.throwIfAborted();
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix));
    if (keys.length > 0) yield await Promise.all(keys.map((key) => this.stat(key, { signal })));
  }

  async read(key: string, { offset, length, version, signal }: ReadOptions): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const { start, end } = this.#find('read', key);
    if (version !== undefined && version !== String(start)) throw versionChanged(this, 'read', key);
    const from = Math.min(start + offset, end);
    return this.#archive.subarray(from, Math.min(from + length, end));
  }

  async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const bytes = await this.read(key, { ...options, length: target.byteLength });
    target.set(bytes);
    return bytes.byteLength;
  }

  readMany(requests: readonly ReadRequest[], options: OperationOptions) {
    return readEach(this, requests, options);
  }

  async write(): Promise<void> {
    throw unsupported(this, 'write');
  }

  async create(): Promise<never> {
    throw unsupported(this, 'create');
  }

  async delete(): Promise<void> {
    throw unsupported(this, 'delete');
  }

  async usage(): Promise<never> {
    throw unsupported(this, 'usage');
  }

  async openIndex(): Promise<never> {
    throw unsupported(this, 'openIndex');
  }

  #find(operation: Operation, key: string): Entry {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw notFound(this, operation, key);
    return entry;
  }
}

driverConformance({
  test,
  factory: () => {
    const driver = new ArchiveDriver();
    return { driver, put: async (key, bytes) => driver.append(key, bytes) };
  },
});
