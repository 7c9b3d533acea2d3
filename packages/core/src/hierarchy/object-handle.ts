import type { HierarchyReadIntoOptions, HierarchyReadOptions } from '../read/options.js';
import { readChannel } from '../tracing/channels.js';
import type { TracedOptions } from '../tracing/operation.js';
import type { ReadTracer } from '../tracing/read-tracer.js';

/** The reads of one object, bound to it by the hierarchy. */
export interface BoundReads {
  readonly read: (options: HierarchyReadOptions & TracedOptions) => Promise<Uint8Array>;
  readonly readInto: (
    target: Uint8Array,
    options: HierarchyReadIntoOptions & TracedOptions,
  ) => Promise<number>;
}

/** The same reads, traced while the channel has subscribers. */
export function traced(tracer: ReadTracer, key: string, { read, readInto }: BoundReads): BoundReads {
  return {
    read: (options) => (readChannel.hasSubscribers ? tracer.read('read', key, options, read) : read(options)),
    readInto: (target, options) =>
      readChannel.hasSubscribers
        ? tracer.read('readInto', key, options, (given) => readInto(target, given))
        : readInto(target, options),
  };
}

/**
 * An object opened for many reads. It holds no resource and needs no closing. Each read is served from the
 * object's place at that moment, so reads move to a tier mid-object once it is placed there (MONARCH,
 * CCGrid'22, section III).
 */
export class ObjectHandle {
  readonly key: string;
  /** Size in bytes when the object was opened. */
  readonly size: number;
  readonly #reads: BoundReads;

  constructor(key: string, size: number, reads: BoundReads) {
    this.key = key;
    this.size = size;
    this.#reads = reads;
  }

  /** As `Hierarchy.read`. */
  read(options: HierarchyReadOptions = {}): Promise<Uint8Array> {
    return this.#reads.read(options);
  }

  /** As `Hierarchy.readInto`. */
  readInto(target: Uint8Array, options: HierarchyReadIntoOptions = {}): Promise<number> {
    return this.#reads.readInto(target, options);
  }
}
