import fc from 'fast-check';
import { KEYS, type Key } from './simulated/dataset.js';

/** How a process of a schedule is begun. */
export interface Start {
  readonly do: 'start';
  readonly who: number;
  /** Bytes of its RAM tier; 0: it has none. */
  readonly ram: number;
  /** Bytes that it lets each disk hold. */
  readonly quota: number;
  readonly policy: 'firstFit' | 'lru' | 'promoting';
  /** How copies lie on its disks. */
  readonly layout: 'files' | 'packed';
  readonly versions: 'refresh' | 'pin';
  readonly scan: boolean;
  readonly whenBehind: 'wait' | 'goOn';
  /** Of each call of a tier's driver, of the source's, and of an index, the share that fails, in percent. */
  readonly faults: { readonly tier: number; readonly source: number; readonly index: number };
  readonly seed: number;
}

/** One read of a step. */
export interface Read {
  readonly key: Key;
  readonly offset: number;
  readonly length: number;
}

/** Reads of one process, at the same time. */
export interface ReadStep {
  readonly do: 'read';
  readonly who: number;
  readonly how: 'read' | 'readInto' | 'readMany' | 'handle';
  readonly reads: readonly Read[];
  /** Simulated milliseconds after which they are aborted. */
  readonly abortAfter?: number | undefined;
  /** The memory of what was read is given away. */
  readonly transfer: boolean;
}

/**
 * What happens next. What makes no sense at that moment (a process that does not run is killed) does nothing.
 */
export type Step =
  | Start
  | ReadStep
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'settle' }
  | { readonly do: 'sync' | 'wipe' | 'loseIndex' }
  | { readonly do: 'kill' | 'close' | 'stop' | 'resume' | 'rescan'; readonly who: number }
  | { readonly do: 'place'; readonly who: number; readonly key: Key }
  | { readonly do: 'change'; readonly key: Key; readonly size: number }
  | { readonly do: 'remove'; readonly key: Key }
  | { readonly do: 'cutPower'; readonly seed: number }
  | { readonly do: 'spoil'; readonly how: 'flip' | 'cut' | 'delete'; readonly seed: number };

/** A schedule: where it begins, and what happens. */
export interface Schedule {
  readonly seed: number;
  /** Disks, each a tier of every process. */
  readonly disks: number;
  readonly sizes: readonly number[];
  readonly steps: readonly Step[];
}

/** Bytes of a chunk: most objects have several. */
export const CHUNK = 16;
const LARGEST = 5 * CHUNK;
const PROCESSES = 3;

const who = fc.nat(PROCESSES - 1);
export const key = fc.constantFrom(...KEYS);
/** Another state of the registry: twice as often that it is there as any other. */
export const registryStep = fc.record({
  do: fc.constant('registry' as const),
  state: fc.constantFrom(
    'there' as const,
    'there' as const,
    'lost' as const,
    'mute' as const,
    'forget' as const,
  ),
});

export const seed = fc.nat(2 ** 31 - 1);
export const size = fc.oneof(
  fc.nat(LARGEST),
  fc.nat(CHUNK),
  fc.constantFrom(0, 1, CHUNK, CHUNK + 1, LARGEST),
);
const quota = fc.integer({ min: 20, max: 4 * LARGEST });
const rate = fc.oneof(
  { arbitrary: fc.constant(0), weight: 3 },
  { arbitrary: fc.constantFrom(2, 10, 40), weight: 1 },
);

export const start: fc.Arbitrary<Start> = fc.record({
  do: fc.constant('start' as const),
  who,
  ram: fc.oneof(fc.constant(0), fc.constant(0), quota),
  quota,
  policy: fc.constantFrom('firstFit' as const, 'lru' as const, 'promoting' as const),
  layout: fc.constantFrom('files' as const, 'packed' as const),
  versions: fc.constantFrom('refresh' as const, 'refresh' as const, 'pin' as const),
  scan: fc.boolean(),
  whenBehind: fc.constantFrom('wait' as const, 'goOn' as const),
  faults: fc.record({ tier: rate, source: rate, index: rate }),
  seed,
});

const one = fc.record({
  key,
  offset: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, { arbitrary: fc.nat(LARGEST), weight: 1 }),
  length: fc.oneof(
    { arbitrary: fc.constant(2 * LARGEST), weight: 3 },
    { arbitrary: fc.nat(LARGEST), weight: 1 },
  ),
});

export const read: fc.Arbitrary<ReadStep> = fc.record({
  do: fc.constant('read' as const),
  who,
  how: fc.constantFrom(
    'read' as const,
    'read' as const,
    'readInto' as const,
    'readMany' as const,
    'handle' as const,
  ),
  reads: fc.array(one, { minLength: 1, maxLength: 6 }),
  abortAfter: fc.option(fc.nat(20), { nil: undefined, freq: 6 }),
  transfer: fc.boolean(),
});

const ofOne = fc.record({
  do: fc.constantFrom(
    'kill' as const,
    'close' as const,
    'stop' as const,
    'resume' as const,
    'rescan' as const,
  ),
  who,
});

const rare = fc.oneof(
  fc.record({ do: fc.constantFrom('wipe' as const, 'loseIndex' as const, 'sync' as const, 'sync' as const) }),
  fc.record({ do: fc.constant('cutPower' as const), seed }),
  fc.record({
    do: fc.constant('spoil' as const),
    how: fc.constantFrom('flip' as const, 'cut' as const, 'delete' as const),
    seed,
  }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: read, weight: 10 },
  { arbitrary: start, weight: 5 },
  {
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(30), fc.nat(30), fc.constantFrom(300, 900, 6000, 100_000, 3_600_000)),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant('settle' as const) }), weight: 3 },
  { arbitrary: ofOne, weight: 4 },
  { arbitrary: fc.record({ do: fc.constant('place' as const), who, key }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('change' as const), key, size }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('remove' as const), key }), weight: 1 },
  { arbitrary: rare, weight: 2 },
);

/** Any schedule; the first process runs from the beginning. */
export const schedules: fc.Arbitrary<Schedule> = fc.record({
  seed,
  disks: fc.constantFrom(1, 1, 2),
  sizes: fc.array(size, { minLength: KEYS.length, maxLength: KEYS.length }),
  steps: fc
    .tuple(start, fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }))
    .map(([first, rest]) => [first, ...rest]),
});
