/**
 * PRISMA's autotuner: Algorithm 1 of the thesis (section 4.2.5), line by line. It is here to compare with,
 * and for those who want what the paper describes.
 *
 * It watches one thing, how full the buffer of N samples is, each time a sample is put in or taken out. A
 * buffer that is full and stays so is the end of tuning; one that is empty, or steady at any other level,
 * asks for a thread; one that swings asks for room. Nothing ever goes down.
 */
import type { Autotuner, Tuning, TuningDecision, TuningLimits, TuningObservation } from './autotuner.js';
import { assertOptions, withinLimits } from './limits.js';

/** Options of `prismaAutotuner`. The defaults are the figures of the thesis, sections 4.2.5 and 4.3. */
export interface PrismaAutotunerOptions {
  /** `init_buffer_size`, in samples. Default: 10. */
  readonly initialSamples?: number | undefined;
  /** `init_n_threads`. Default: 1. */
  readonly initialProducers?: number | undefined;
  /** `buffer_size_step`, in samples. Default: 10. */
  readonly samplesStep?: number | undefined;
  /** `n_threads_step`. Default: 1. */
  readonly producersStep?: number | undefined;
  /** `max_buffer_size`, in samples. Default: no bound but the memory's, for the thesis gives none. */
  readonly mostSamples?: number | undefined;
  /** Milliseconds before the first decision, for consumers to find their pace. Default: 15,000. */
  readonly initialIntervalMs?: number | undefined;
  /** Milliseconds between decisions. Default: 100. */
  readonly intervalMs?: number | undefined;
  /** Records of buffer usage that a decision needs; fewer are kept for the next. Default: 10. */
  readonly leastRecords?: number | undefined;
  /** Mean usage from which the buffer counts as full, in percent. Default: 80. */
  readonly fullPercent?: number | undefined;
  /** Mean usage up to which the buffer counts as empty, in percent. Default: 30. */
  readonly emptyPercent?: number | undefined;
  /** Standard deviation up to which the usage counts as steady, in percentage points. Default: 20. */
  readonly steadyPercent?: number | undefined;
}

const NO_RECORDS = { records: 0, sum: 0, sumOfSquares: 0 };

/**
 * Tunes as Algorithm 1 of the PRISMA thesis does: producers and samples; memory is what the limits allow.
 *
 * What the thesis leaves open is decided so:
 * - N bounds what is stored, and each thread reads one more meanwhile, as in section 4.2.3. Other than there,
 *   samples have their memory in order before they are read, so a thread that was faster than those before it
 *   need not wait to store.
 * - The deviation is that of the population: the records are all there were, not a sample of them.
 * - Records are counted anew after each decision, also after one that could change nothing.
 * - A parameter at its cap, or fixed, stays as it is, and the other is not raised in its place. A step ends
 *   at the cap.
 * - Producers are also capped by what there is use for (`usableProducers`), for as long as that is so: more
 *   would only wait for each other where the source makes few reads at a time. Those that there are do not go
 *   down to it.
 * - Tuning ends also when both are at their caps or fixed, as nothing can change any more.
 *
 * @throws TieredError `TIERED_CONFIG_INVALID` for initial values and steps below 1, and other figures below
 * 0.
 */
export function prismaAutotuner(options: PrismaAutotunerOptions = {}): Autotuner {
  const { initialSamples = 10, initialProducers = 1, samplesStep = 10, producersStep = 1 } = options;
  const { mostSamples = Infinity, initialIntervalMs = 15_000, intervalMs = 100, leastRecords = 10 } = options;
  const { fullPercent = 80, emptyPercent = 30, steadyPercent = 20 } = options;
  assertOptions(
    { initialSamples, initialProducers, samplesStep, producersStep, mostSamples, leastRecords },
    1,
  );
  assertOptions({ initialIntervalMs, intervalMs, fullPercent, emptyPercent, steadyPercent }, 0);

  let limits: TuningLimits;
  let usage = NO_RECORDS;

  const allowed = (tuning: Tuning) =>
    withinLimits({ ...tuning, samples: Math.min(tuning.samples, mostSamples) }, limits);
  const more = (tuning: Tuning, usable = Infinity) => ({
    producers: allowed({
      ...tuning,
      producers: Math.max(tuning.producers, Math.min(tuning.producers + producersStep, usable)),
    }),
    samples: allowed({ ...tuning, samples: tuning.samples + samplesStep }),
  });
  const same = (a: Tuning, b: Tuning) => a.producers === b.producers && a.samples === b.samples;

  /** Asks to be called again, unless the tuning can never change. */
  const proceed = (tuning: Tuning, reason: string, nextInMs: number): TuningDecision => {
    const next = more(tuning);
    if (!same(next.producers, tuning) || !same(next.samples, tuning)) return { tuning, reason, nextInMs };
    return { tuning, reason: `${reason}, and neither parameter can be raised further`, nextInMs: undefined };
  };

  const raise = (tuning: Tuning, raised: Tuning, what: 'producers' | 'samples', why: string) => {
    const reason = same(raised, tuning)
      ? `${why}, but ${what} stay at ${tuning[what]}, which is fixed, the cap, or all that there is use for`
      : `${why}: ${what} from ${tuning[what]} to ${raised[what]}`;
    return proceed(raised, reason, intervalMs);
  };

  return {
    name: 'prisma',
    begin(given) {
      limits = given;
      usage = NO_RECORDS;
      const { memoryBytes } = limits;
      const tuning = allowed({ producers: initialProducers, samples: initialSamples, memoryBytes });
      return proceed(tuning, 'the initial values of Algorithm 1', initialIntervalMs);
    },
    decide(observation) {
      const { tuning } = observation;
      usage = added(usage, observation.usage);
      if (usage.records < leastRecords)
        return proceed(
          tuning,
          `${usage.records} records are kept until there are ${leastRecords}`,
          intervalMs,
        );
      const { mean, deviation } = statistics(usage);
      usage = NO_RECORDS;
      const figures = `the buffer was ${mean.toFixed(1)} % full with a deviation of ${deviation.toFixed(1)}`;
      if (mean >= fullPercent && deviation <= steadyPercent)
        return { tuning, reason: `${figures}, which is the optimum`, nextInMs: undefined };
      const next = more(tuning, observation.usableProducers);
      return mean <= emptyPercent || deviation <= steadyPercent
        ? raise(tuning, next.producers, 'producers', figures)
        : raise(tuning, next.samples, 'samples', figures);
    },
  };
}

type Usage = TuningObservation['usage'];

function added(a: Usage, b: Usage): Usage {
  return {
    records: a.records + b.records,
    sum: a.sum + b.sum,
    sumOfSquares: a.sumOfSquares + b.sumOfSquares,
  };
}

function statistics({ records, sum, sumOfSquares }: Usage): { mean: number; deviation: number } {
  const mean = sum / records;
  // Rounding can make the difference of two equal numbers negative.
  return { mean, deviation: Math.sqrt(Math.max(0, sumOfSquares / records - mean * mean)) };
}
