import fc from 'fast-check';
import { key, read, registryStep, seed, size, start, type ReadStep, type Start } from '../steps.js';
import { KEYS, type Key } from '../simulated/dataset.js';

/** How a node is begun. */
export interface NodeStart extends Start {
  /** Undefined: the lowest that is free. */
  readonly rank: number | undefined;
  /** Whether it keeps objects for others. */
  readonly share: boolean;
  /** Whether its machine's disk is a tier of it. It has what the nodes before had there. */
  readonly hasDisk: boolean;
}

/** What the network does to what is sent, each in percent. */
export interface Weather {
  /** The longest that a piece is on its way, in milliseconds. */
  readonly slowMs: number;
  /** Nothing comes any more, and nobody is told. */
  readonly lose: number;
  readonly break: number;
  readonly flip: number;
}

/**
 * What happens next. What makes no sense at that moment does nothing. The reader of a read is one of the
 * nodes that run, so that most reads come about.
 */
export type NodeStep =
  | NodeStart
  | ReadStep
  | { readonly do: 'wait'; readonly ms: number }
  /** `epoch`: all nodes that run read everything, at the same time. */
  | { readonly do: 'epoch' | 'settle' | 'heal' }
  | { readonly do: 'kill' | 'close' | 'leave' | 'stop' | 'resume'; readonly who: number }
  | { readonly do: 'follow'; readonly who: number; readonly plan: number }
  | { readonly do: 'change'; readonly key: Key; readonly size: number }
  | { readonly do: 'remove'; readonly key: Key }
  | { readonly do: 'cut'; readonly who: number; readonly other: number }
  | { readonly do: 'weather'; readonly weather: Weather }
  | { readonly do: 'registry'; readonly state: 'there' | 'lost' | 'mute' | 'forget' };

/** A schedule of nodes. */
export interface NodeSchedule {
  readonly seed: number;
  /** Ranks that there are; undefined: those that came. */
  readonly size: number | undefined;
  /** Of the objects. */
  readonly sizes: readonly number[];
  /** At the beginning. */
  readonly weather: Weather;
  readonly steps: readonly NodeStep[];
}

/** Machines, on each of which one node runs at a time. */
export const MACHINES = 4;
/** Ranks with a fixed size. So there are more nodes than ranks, and one takes that of another. */
export const RANKS = 3;
/** A quota for all objects. */
export const AMPLE = 100_000;

const who = fc.nat(MACHINES - 1);
const percent = fc.constantFrom(0, 0, 0, 3, 20, 60);
const weather: fc.Arbitrary<Weather> = fc.record({
  slowMs: fc.constantFrom(3, 30, 900),
  lose: percent,
  break: percent,
  flip: percent,
});

const nodeStart: fc.Arbitrary<NodeStart> = fc
  .tuple(
    start,
    fc.record({
      who,
      rank: fc.option(fc.nat(RANKS - 1), { nil: undefined, freq: 1 }),
      share: fc.constantFrom(true, true, true, false),
      hasDisk: fc.constantFrom(false, false, true),
      isAmple: fc.boolean(),
    }),
  )
  .map(([usual, { isAmple, ...own }]) => {
    const ram = isAmple ? AMPLE : usual.ram;
    return { ...usual, ...own, ram, quota: isAmple ? AMPLE : usual.quota };
  });

const ofOne = fc.record({
  do: fc.constantFrom(
    'kill' as const,
    'close' as const,
    'leave' as const,
    'stop' as const,
    'resume' as const,
  ),
  who,
});

const ofNetwork = fc.oneof(
  fc.record({ do: fc.constant('cut' as const), who, other: who }),
  fc.record({ do: fc.constant('heal' as const) }),
  fc.record({
    do: fc.constant('weather' as const),
    weather,
  }),
  registryStep,
);

const nodeRead = fc.tuple(read, who).map(([usual, who]) => ({ ...usual, who }));

const step: fc.Arbitrary<NodeStep> = fc.oneof(
  { arbitrary: nodeRead, weight: 10 },
  { arbitrary: fc.record({ do: fc.constant('epoch' as const) }), weight: 3 },
  { arbitrary: nodeStart, weight: 5 },
  {
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(30), fc.constantFrom(300, 900, 6000, 6000, 30_000, 90_000)),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant('settle' as const) }), weight: 3 },
  { arbitrary: ofOne, weight: 4 },
  { arbitrary: ofNetwork, weight: 4 },
  { arbitrary: fc.record({ do: fc.constant('follow' as const), who, plan: fc.nat(2) }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('change' as const), key, size }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('remove' as const), key }), weight: 1 },
);

/** Any schedule; two nodes run from the beginning, as far as their faults let them start. */
export const nodeSchedules: fc.Arbitrary<NodeSchedule> = fc.record({
  seed,
  size: fc.constantFrom(undefined, RANKS),
  weather,
  sizes: fc.array(size, { minLength: KEYS.length, maxLength: KEYS.length }),
  steps: fc
    .tuple(nodeStart, nodeStart, fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }))
    .map(([one, other, rest]) => [
      { ...one, who: 0, rank: 0 },
      { ...other, who: 1, rank: 1 },
      { do: 'settle' as const },
      ...rest,
    ]),
});
