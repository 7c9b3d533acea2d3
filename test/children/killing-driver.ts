import { systemClock, type StorageDriver } from '@tiered/core';
import {
  InterceptingDriver,
  type CreateOptions,
  type DriverCall,
  type ObjectWriter,
  type Operation,
} from '@tiered/core/driver';
import fs from 'node:fs';

/**
 * When a process kills itself: before, within or after its n-th call of this kind; `any` counts all that
 * change a tier. `index` is the n-th of those whose beginning or end is recorded: it dies while the tier's
 * index is being written for it.
 */
export interface KillPoint {
  readonly call: Operation | 'any' | 'index';
  /** From 1. */
  readonly nth: number;
  readonly when: 'before' | 'within' | 'after';
}

/** Calls that only look. */
const LOOKS = ['open', 'openIndex', 'list', 'stat', 'read', 'readInto', 'usage'];
/**
 * Before a copy is begun its claim is recorded, after it was published that it is placed, around its deletion
 * that it leaves.
 */
const RECORDED = ['write', 'create', 'publish', 'delete'];
/** Looks at the index's files before a process dies all the same: some milliseconds. */
const MOST_LOOKS = 2000;

/** As `kill -9` from outside, at this very instruction. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a process outlived SIGKILL');
}

/** Kills the process at one of the calls that pass through it. */
export class KillingDriver extends InterceptingDriver {
  readonly #point: KillPoint;
  readonly #indexPath: string;
  #calls = 0;

  constructor(inner: StorageDriver, point: KillPoint, indexPath: string) {
    super(inner);
    this.#point = point;
    this.#indexPath = indexPath;
  }

  /** Half of a part is written before the process dies within a write. */
  override async create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    const writer = await super.create(key, options);
    if (this.#point.when !== 'within' || this.#point.call !== 'writeAt') return writer;
    return {
      ...writer,
      writeAt: async (bytes, at) => {
        if (!this.#isDue('writeAt')) return writer.writeAt(bytes, at);
        await writer.writeAt(bytes.subarray(0, bytes.byteLength >> 1), at);
        die();
      },
    };
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const { call: kind, when } = this.#point;
    const isCountedInCreate = kind === 'writeAt' && when === 'within';
    if (isCountedInCreate || !this.#isDue(call.operation)) return call.proceed();
    if (kind === 'index') return this.#dieInIndex(call);
    if (when === 'before') die();
    const running = call.proceed();
    if (when === 'within') die();
    await running;
    die();
  }

  #isDue(call: Operation): boolean {
    const { call: wanted, nth } = this.#point;
    if (wanted === 'any' && LOOKS.includes(call)) return false;
    if (wanted === 'index' && !RECORDED.includes(call)) return false;
    if (wanted !== 'any' && wanted !== 'index' && wanted !== call) return false;
    this.#calls += 1;
    return this.#calls === nth;
  }

  /**
   * What is to be recorded is on its way to the index's thread one turn of the event loop after the call, or
   * before.
   */
  async #dieInIndex<T>(call: DriverCall<T>): Promise<T> {
    const running = call.proceed();
    if (this.#point.when === 'after') await running;
    void systemClock.turn().then(() => this.#dieWhenWritten());
    return running;
  }

  /** Dies as soon as the thread has begun to write: the thread goes on meanwhile, this one only looks. */
  #dieWhenWritten(): void {
    const before = this.#written();
    for (let looks = 0; looks < MOST_LOOKS && this.#written() === before; looks++);
    die();
  }

  #written(): string {
    const files = [this.#indexPath, `${this.#indexPath}-wal`].map((file) =>
      fs.statSync(file, { bigint: true, throwIfNoEntry: false }),
    );
    return files.map((stat) => `${stat?.size} ${stat?.mtimeNs}`).join();
  }
}
