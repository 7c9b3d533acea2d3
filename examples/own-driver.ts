// A driver of your own, and the conformance suite that tells whether it keeps the contract: objects in a
// tar-like archive in memory, read-only. `BaseDriver` refuses what it cannot do. Run it:
// node --conditions=tiered-source --import tsx examples/own-driver.ts
import type { ListOptions, ObjectStat } from '@tiered/core';
import { BaseDriver, notFound, versionChanged, type Operation, type ReadOptions } from '@tiered/core/driver';
import { driverConformance } from '@tiered/core/conformance';
import { test } from 'node:test';

interface Entry {
  readonly start: number;
  readonly end: number;
}

class ArchiveDriver extends BaseDriver {
  readonly #entries = new Map<string, Entry>();
  #archive = new Uint8Array(0);

  constructor() {
    // No location: this is memory, which no other driver can reach.
    super({ name: 'archive', capabilities: { list: true, usage: false, sharedViews: true } });
  }

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

  protected async statObject(key: string): Promise<ObjectStat> {
    const { start, end } = this.#find('stat', key);
    return { key, size: end - start, version: String(start) };
  }

  protected override async *listObjects({ prefix = '' }: ListOptions): AsyncGenerator<readonly ObjectStat[]> {
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix));
    if (keys.length > 0) yield await Promise.all(keys.map((key) => this.statObject(key)));
  }

  protected async readRange(key: string, { offset, length, version }: ReadOptions): Promise<Uint8Array> {
    const { start, end } = this.#find('read', key);
    if (version !== undefined && version !== String(start)) throw versionChanged(this, 'read', key);
    const from = Math.min(start + offset, end);
    return this.#archive.subarray(from, Math.min(from + length, end));
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
