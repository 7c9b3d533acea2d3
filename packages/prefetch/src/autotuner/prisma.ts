/**
 * PRISMA's autotuner: Algorithm 1 of the thesis (section 4.2.5), line by line. It is here for comparison, and
 * for users who want the algorithm of the paper.
 *
 * It watches how full the buffer of N samples is, each time a sample is added or taken. If the buffer is full
 * and stays so, tuning ends. If it is empty, or steady at any other level, a thread is added. If the level
 * swings, room is added. Nothing is ever reduced.
 */
import type { Autotuner, Tuning, TuningDecision, TuningLimits, TuningObservation } from './autotuner.js';
import { assertOptions, withinLimits } from './limits.js';

/** Options of `prismaAutotuner`. Defaults are the figures of the thesis, sections 4.2.5 and 4.3. */
export interface PrismaAutotunerOptions {
  /** `init_buffer_size`, in samples. Default: 10. */
  readonly initialSamples?: number | undefined;
  /** `init_n_threads`. Default: 1. */
  readonly initialProducers?: number | undefined;
  /** `buffer_size_step`, in samples. Default: 10. */
  readonly samplesStep?: number | undefined;
  /** `n_threads_step`. Default: 1. */
  readonly producersStep?: number | undefined;
  /** `max_buffer_size`, in samples. Default: only memory is a bound, because the thesis gives none. */
  readonly mostSamples?: number | undefined;
  /** Milliseconds before the first decision, in which consumers find their pace. Default: 15,000. */
  readonly initialIntervalMs?: number | undefined;
  /** Milliseconds between decisions. Default: 100. */
  readonly intervalMs?: number | undefined;
  /** Records of buffer usage that a decision needs. Fewer are kept for the next one. Default: 10. */
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
 * Tunes producers and samples as Algorithm 1 of the PRISMA thesis does. Memory is what the limits allow.
 *
 * Points that the thesis leaves open are decided as follows:
 * - N bounds what is stored, and each thread may read one more meanwhile, as in section 4.2.3. Unlike there,
 *   samples are given their memory in order before they are read. So a thread that is faster than those
 *   before it need not wait to store its sample.
 * - The deviation is that of the population, because the records are complete and not a sample.
 * - Records are counted anew after each decision, even one that could change nothing.
 * - A parameter that is fixed or at its cap stays as it is, and the other one is not raised in its place. A
 *   step ends at the cap.
 * - Producers are also capped by how many are useful at the time (`usableProducers`). If the source makes few
 *   reads at a time, more producers would only wait for each other. Producers beyond this cap are kept.
 * - Tuning also ends when both parameters are fixed or at their caps, because nothing can change then.
 *
 * @throws TieredError `TIERED_CONFIG_INVALID` for initial values, steps, `mostSamples` and `leastRecords`
 * below 1, and for other figures below 0.
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
