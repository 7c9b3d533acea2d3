import type { OperationOptions, ReadOutcome, StorageDriver } from '../driver/driver.js';
import { readChannel, type ReadTrace } from './channels.js';
import type { OnServed, TracedOptions } from './operation.js';

/** A context while its operation is in flight. */
type Growing = { -readonly [Field in keyof ReadTrace]: ReadTrace[Field] };

/** The fields that are known when a read begins. */
type Begun = Pick<ReadTrace, 'operation' | 'key' | 'offset' | 'reads'>;

/**
 * Publishes the reads of one hierarchy on the channel `tiered:read`. Used only if the channel has
 * subscribers.
 */
export class ReadTracer {
  readonly #hierarchy: string;
  /** Fastest first, the source last. */
  readonly #levels: readonly StorageDriver[];

  constructor(hierarchy: string, levels: readonly StorageDriver[]) {
    this.#hierarchy = hierarchy;
    this.#levels = levels;
  }

  /**
   * Traces one read.
   * @param read Makes the read, with the options that it is given.
   */
  read<
    Given extends Uint8Array | number,
    Options extends OperationOptions & { readonly offset?: number | undefined },
  >(
    operation: 'read' | 'readInto',
    key: string,
    options: Options,
    read: (options: Options & TracedOptions) => Promise<Given>,
  ): Promise<Given> {
    const begun = { operation, key, offset: options.offset ?? 0, reads: 1 };
    return this.#trace(begun, async (trace, onServed) => {
      const given = await read({ ...options, onServed });
      trace.bytes = typeof given === 'number' ? given : given.byteLength;
      return given;
    });
  }

  /**
   * Traces a batch, as one operation.
   * @param reads The number of reads.
   */
  readMany(
    reads: number,
    options: OperationOptions,
    readMany: (options: TracedOptions) => Promise<readonly ReadOutcome[]>,
  ): Promise<readonly ReadOutcome[]> {
    const begun = { operation: 'readMany', key: undefined, offset: 0, reads } as const;
    return this.#trace(begun, async (trace, onServed) => {
      const outcomes = await readMany({ ...options, onServed });
      for (const outcome of outcomes) {
        if ('error' in outcome) trace.failed += 1;
        else trace.bytes += outcome.bytes;
      }
      return outcomes;
    });
  }

  #trace<Given>(begun: Begun, read: (trace: Growing, onServed: OnServed) => Promise<Given>): Promise<Given> {
    const served = { fromTiers: 0, fromSource: 0, joined: 0, empty: 0 };
    const trace: Growing = {
      hierarchy: this.#hierarchy,
      ...begun,
      bytes: 0,
      served,
      failed: 0,
      level: undefined,
      driver: undefined,
    };
    const onServed: OnServed = (by, level = this.#levels.length - 1) => {
      served[by] += 1;
      if (by === 'empty' || level < (trace.level ?? 0)) return;
      trace.level = level;
      trace.driver = this.#levels[level]?.name;
    };
    return readChannel.tracePromise(() => read(trace, onServed), trace);
  }
}
