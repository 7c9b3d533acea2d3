import { TieredError, type ListOptions, type ObjectStat } from '@tiered/core';
import {
  BaseDriver,
  notFound,
  versionChanged,
  type BaseDriverOptions,
  type Operation,
  type ReadOptions,
  type WriteOptions,
} from '@tiered/core/driver';
import { driverConformance } from '@tiered/core/conformance';
import { describe, expect, inject, it } from 'vitest';

const OWN = { name: 'shelf', capabilities: { list: true, write: true, delete: true } };

/** All that an author writes. */
class Shelf extends BaseDriver {
  readonly objects = new Map<string, { bytes: Uint8Array; version: string }>();
  opened = 0;
  closed = 0;
  /** Called before each operation. */
  before: () => void = () => undefined;
  #writes = 0;

  constructor(options: BaseDriverOptions = OWN) {
    super(options);
  }

  protected override async openStorage(): Promise<void> {
    this.before();
    this.opened += 1;
  }

  protected override async closeStorage(): Promise<void> {
    this.closed += 1;
  }

  protected async statObject(key: string): Promise<ObjectStat> {
    const { bytes, version } = this.#get(key);
    return { key, size: bytes.byteLength, version };
  }

  protected async readRange(key: string, { offset, length, version }: ReadOptions): Promise<Uint8Array> {
    const found = this.#get(key);
    if (version !== undefined && version !== found.version) throw versionChanged(this, 'read', key);
    return found.bytes.slice(offset, offset + length);
  }

  protected override async *listObjects({ prefix = '' }: ListOptions): AsyncGenerator<ObjectStat[]> {
    this.before();
    for (const key of this.objects.keys()) if (key.startsWith(prefix)) yield [await this.statObject(key)];
  }

  protected override async writeObject(
    key: string,
    bytes: Uint8Array,
    { ifAbsent = false }: WriteOptions,
  ): Promise<void> {
    this.before();
    if (ifAbsent && this.objects.has(key)) throw new TieredError('TIERED_EXISTS', `${key} is there`);
    this.#writes += 1;
    this.objects.set(key, { bytes: bytes.slice(), version: `${this.#writes}` });
  }

  protected override async deleteObject(key: string): Promise<void> {
    this.before();
    this.objects.delete(key);
  }

  #get(key: string) {
    this.before();
    const found = this.objects.get(key);
    if (found === undefined) throw notFound(this, 'stat', key);
    return found;
  }
}

describe('a driver on BaseDriver', () => {
  driverConformance({ test: it, factory: () => ({ driver: new Shelf() }), wrapped: inject('nightly') });

  const calls: readonly (readonly [
    string,
    (driver: BaseDriver, signal?: AbortSignal) => Promise<unknown>,
  ])[] = [
    ['stat', (driver, signal) => driver.stat('a', { signal })],
    ['read', (driver, signal) => driver.read('a', { offset: 0, length: 1, signal })],
    ['readInto', (driver, signal) => driver.readInto('a', new Uint8Array(1), { offset: 0, signal })],
    ['list', (driver, signal) => driver.list({ signal }).next()],
    ['write', (driver, signal) => driver.write('a', new Uint8Array(1), { size: 1, signal })],
    ['create', (driver, signal) => driver.create('a', { size: 1, signal })],
    ['delete', (driver, signal) => driver.delete('a', { signal })],
    ['usage', (driver, signal) => driver.usage({ signal })],
  ];

  it.each(calls)('is refused before open and after close: %s', async (_, call) => {
    const driver = new Shelf();
    await expect(call(driver)).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN', driver: 'shelf' });
    await driver.open({});
    await driver.write('a', new Uint8Array(1), { size: 1 });
    await call(driver);
    await driver.close();
    await expect(call(driver)).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
  });

  it.each(calls)('rejects with the reason of its signal, and reaches no storage: %s', async (_, call) => {
    const driver = new Shelf();
    await driver.open({});
    let reached = 0;
    driver.before = () => (reached += 1);
    const reason = new Error('no longer wanted');
    await expect(call(driver, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(reached).toBe(0);
  });

  it.each(calls.filter(([name]) => name !== 'create'))(
    'gives foreign errors a code, and those of an abort its reason: %s',
    async (operation, call) => {
      const driver = new Shelf();
      await driver.open({});
      const cause = new Error('the shelf broke');
      const controller = new AbortController();
      driver.before = () => {
        throw cause;
      };
      await expect(call(driver)).rejects.toMatchObject({ code: 'TIERED_IO', cause, retryable: false });
      if (operation !== 'usage') await expect(call(driver)).rejects.toMatchObject({ operation });
      const reason = new Error('no longer wanted');
      driver.before = () => {
        controller.abort(reason);
        throw cause;
      };
      await expect(call(driver, controller.signal)).rejects.toBe(reason);
    },
  );

  it('lets its author explain foreign errors, and no others', async () => {
    class Explaining extends Shelf {
      protected override explained(thrown: unknown, operation: Operation, key?: string): unknown {
        return new TieredError('TIERED_UNAVAILABLE', 'away', { cause: thrown, operation, key });
      }
    }
    const driver = new Explaining();
    await driver.open({});
    await expect(driver.stat('a', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    const cause = new Error('the shelf broke');
    driver.before = () => {
      throw cause;
    };
    const away = { code: 'TIERED_UNAVAILABLE', cause, operation: 'stat', key: 'a' };
    await expect(driver.stat('a', {})).rejects.toMatchObject(away);
    const reason = new Error('no longer wanted');
    await expect(driver.stat('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('guards the method that writes in its own way', async () => {
    class InParts extends BaseDriver {
      before: () => void = () => undefined;

      protected statObject(key: string): Promise<ObjectStat> {
        return Promise.reject(notFound(this, 'stat', key));
      }

      protected readRange(key: string): Promise<Uint8Array> {
        return Promise.reject(notFound(this, 'read', key));
      }

      override write(key: string, _: unknown, options: WriteOptions): Promise<void> {
        return this.guarded('write', key, options, async () => this.before());
      }
    }
    const driver = new InParts({ name: 'parts', capabilities: { write: true } });
    const write = () => driver.write('a', new Uint8Array(), { size: 0 });
    await expect(write()).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
    await driver.open({});
    const cause = new Error('the shelf broke');
    driver.before = () => {
      throw cause;
    };
    await expect(write()).rejects.toMatchObject({ code: 'TIERED_IO', cause, operation: 'write', key: 'a' });
    const reads = new InParts({ name: 'shelf' });
    await expect(reads.write('a', new Uint8Array(), { size: 0 })).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
    });
  });

  it('does not touch memory that an aborted read gave back', async () => {
    const driver = new Shelf();
    await driver.open({});
    await driver.write('a', Uint8Array.of(7), { size: 1 });
    const controller = new AbortController();
    driver.before = () => controller.abort();
    const target = new Uint8Array(1);
    await expect(driver.readInto('a', target, { offset: 0, signal: controller.signal })).rejects.toThrow();
    expect(target).toEqual(Uint8Array.of(0));
  });

  it('refuses keys before anything reaches the storage, and after all else', async () => {
    class Picky extends Shelf {
      protected override assertKey(operation: Operation, key: string): void {
        if (key === 'bad') throw new TieredError('TIERED_KEY_INVALID', 'no', { operation, key });
      }
    }
    const driver = new Picky();
    await expect(driver.stat('bad', {})).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
    await driver.open({});
    driver.before = () => expect.unreachable();
    const refused = { code: 'TIERED_KEY_INVALID', key: 'bad' };
    await expect(driver.create('bad', { size: 1 })).rejects.toMatchObject(refused);
    await expect(driver.write('bad', new Uint8Array(1), { size: 1 })).rejects.toMatchObject(refused);
    await expect(driver.readInto('bad', new Uint8Array(1), { offset: 0 })).rejects.toMatchObject(refused);
    await expect(driver.delete('bad', {})).rejects.toMatchObject(refused);
  });

  it('opens its storage once, and closes what it opened', async () => {
    const driver = new Shelf();
    driver.before = () => {
      throw new Error('not yet');
    };
    await expect(driver.open({})).rejects.toMatchObject({ code: 'TIERED_IO', operation: 'open' });
    await driver.close();
    driver.before = () => undefined;
    await driver.open({});
    await driver.open({});
    await driver.close();
    await driver.close();
    expect([driver.opened, driver.closed]).toEqual([1, 1]);
  });

  it.each([['list'], ['write'], ['delete']])('cannot declare %s without the method', (capability) => {
    class Bare extends BaseDriver {
      constructor() {
        super({ name: 'bare', capabilities: { [capability]: true } });
      }
      protected statObject(key: string): Promise<ObjectStat> {
        return Promise.reject(notFound(this, 'stat', key));
      }
      protected async readRange(): Promise<Uint8Array> {
        return new Uint8Array(0);
      }
    }
    expect(() => new Bare()).toThrow(`capabilities.${capability}: expected false, or a method `);
  });
});
