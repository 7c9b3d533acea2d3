import { isTieredError, type Clock, type Hierarchy } from '@tiered/core';
import { ticked } from '@tiered/core/testing';
import type { Read, ReadStep } from '../steps.js';
import type { Dataset } from './dataset.js';
import { Finding } from './finding.js';
import type { Knowledge } from './knowledge.js';

/** The process that reads. */
export interface Reader {
  readonly options: { readonly versions: 'refresh' | 'pin'; readonly ram: number };
  readonly hierarchy: Hierarchy;
  /** The world's, which goes on whatever becomes of the process. */
  readonly clock: Clock;
  readonly isRunning: boolean;
  readonly isClosing: boolean;
}

/** Behind what a read put into memory there is this, or zeros. */
const UNTOUCHED = 0xab;

/** The reads of one process, each compared with what the source held. */
export class Reading {
  readonly #life: Reader;
  readonly #known: Knowledge;
  readonly #dataset: Dataset;
  readonly #onBytes: (bytes: number) => void;

  constructor(life: Reader, known: Knowledge, dataset: Dataset, onBytes: (bytes: number) => void) {
    this.#life = life;
    this.#known = known;
    this.#dataset = dataset;
    this.#onBytes = onBytes;
  }

  /**
   * Makes the reads of a step; resolves when all have ended and were looked at, to when the last of them
   * ended. What comes after it waits for turns of the event loop, while the clock may be far ahead.
   */
  async make(step: ReadStep): Promise<number> {
    const { clock } = this.#life;
    const abort = step.abortAfter === undefined ? undefined : new AbortController();
    let endedAt: number | undefined;
    const all = this.#all(step, abort?.signal).then(() => (endedAt = clock.now()));
    const aborting = abort === undefined ? undefined : this.#abort(step, abort, () => endedAt !== undefined);
    const [at] = await Promise.all([all, aborting]);
    return at;
  }

  /** Aborts the reads of a step after a while, and looks whether they end then. */
  async #abort(
    { how, abortAfter = 0 }: ReadStep,
    abort: AbortController,
    isOver: () => boolean,
  ): Promise<void> {
    await this.#life.clock.sleep(abortAfter);
    abort.abort(new Error('enough'));
    // Into memory of the caller's a driver may be writing still.
    if (how !== 'read' && how !== 'handle') return;
    for (let turns = 0; turns < 5; turns++) await ticked();
    if (!isOver() && this.#life.isRunning) throw new Finding('late abort', 'a read went on after its abort');
  }

  async #all({ how, reads, transfer }: ReadStep, signal: AbortSignal | undefined): Promise<void> {
    if (how === 'readMany') return this.#many(reads, signal);
    await Promise.all(reads.map((read) => this.#one(how, read, transfer, signal)));
  }

  async #one(
    how: ReadStep['how'],
    read: Read,
    transfer: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const check = this.#checkOf(read, signal);
    const { hierarchy } = this.#life;
    const { key, offset, length } = read;
    try {
      if (how === 'readInto') {
        const target = new Uint8Array(length).fill(UNTOUCHED);
        check.bytes(filledPart(target, await hierarchy.readInto(key, target, { offset, signal })));
        return;
      }
      const reader = how === 'handle' ? await hierarchy.handle(key, { signal }) : undefined;
      const range = { offset, length, signal };
      const bytes = await (reader === undefined ? hierarchy.read(key, range) : reader.read(range));
      check.bytes(bytes);
      if (transfer) this.#spoil(bytes);
    } catch (error) {
      check.error(error);
    }
  }

  async #many(reads: readonly Read[], signal: AbortSignal | undefined): Promise<void> {
    const checks = reads.map((read) => this.#checkOf(read, signal));
    const requests = reads.map(({ key, offset, length }) => ({
      key,
      offset,
      target: new Uint8Array(length).fill(UNTOUCHED),
    }));
    try {
      const outcomes = await this.#life.hierarchy.readMany(requests, { signal });
      for (const [i, outcome] of outcomes.entries()) {
        if ('error' in outcome) checks[i]?.error(outcome.error);
        else checks[i]?.bytes(filledPart(requests[i]?.target ?? new Uint8Array(), outcome.bytes));
      }
    } catch (error) {
      checks[0]?.error(error);
    }
  }

  /** How a read is judged that begins now. */
  #checkOf({ key, offset, length }: Read, signal: AbortSignal | undefined) {
    const known = this.#known;
    const lowest = known.lowest(key);
    const before = this.#dataset.present(key);
    return {
      bytes: (bytes: Uint8Array) => {
        this.#onBytes(bytes.byteLength);
        for (let version = lowest; version <= known.highest(key); version++) {
          const content = this.#dataset.content(key, version);
          if (content === undefined) continue;
          if (Buffer.compare(bytes, content.subarray(offset, offset + length)) !== 0) continue;
          known.shown(key, version);
          return;
        }
        throw new Finding('wrong bytes', this.#describe(key, offset, length, bytes, lowest));
      },
      error: (error: unknown) => {
        if (error instanceof Finding) throw error;
        if (signal?.aborted === true && error === signal.reason) return;
        if (isTieredError(error, 'TIERED_CLOSED') && this.#life.isClosing) return;
        if (isTieredError(error, 'TIERED_NOT_FOUND') && known.mayBeMissing(key, lowest)) return;
        const hasChanged =
          this.#life.options.versions === 'pin'
            ? this.#dataset.present(key) > lowest
            : this.#dataset.present(key) > before;
        if (isTieredError(error, 'TIERED_SOURCE_CHANGED') && hasChanged) return;
        throw new Finding('failed read', `${key} from ${offset}, ${length} bytes: ${String(error)}`, error);
      },
    };
  }

  #describe(key: Read['key'], offset: number, length: number, bytes: Uint8Array, lowest: number): string {
    const highest = this.#known.highest(key);
    const lines = [`${key} from ${offset}, ${length} bytes, gave ${hex(bytes)}`];
    for (let version = 0; version <= this.#dataset.present(key); version++) {
      const content = this.#dataset.content(key, version)?.subarray(offset, offset + length);
      lines.push(`version ${version}: ${content === undefined ? 'none' : hex(content)}`);
    }
    return `${lines.join('\n  ')}\n  allowed: ${lowest} to ${highest}`;
  }

  /** What a caller does with its bytes concerns nobody else. Views of a RAM tier are to be read only. */
  #spoil(bytes: Uint8Array): void {
    if (this.#life.options.ram === 0) bytes.fill(0x5a);
    try {
      structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] });
    } catch {
      // Memory that is not to be given away is not.
    }
  }
}

function filledPart(target: Uint8Array, count: number): Uint8Array {
  if (target.subarray(count).some((byte) => byte !== UNTOUCHED && byte !== 0))
    throw new Finding('wrong bytes', `behind ${count} bytes that were read there are others`);
  return target.subarray(0, count);
}

function hex(bytes: Uint8Array): string {
  return `${bytes.byteLength} bytes ${Buffer.from(bytes).toString('hex')}`;
}
