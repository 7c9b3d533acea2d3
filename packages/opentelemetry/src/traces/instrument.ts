import { trace, type TracerProvider } from '@opentelemetry/api';
import {
  placeChannel,
  prefetchChannel,
  readChannel,
  type PlaceTrace,
  type PrefetchTrace,
  type ReadTrace,
} from '@tiered/core/tracing';
import { configError } from '@tiered/core/internal';
import { SpanMaker, type Described } from './span-maker.js';

/**
 * Operations that have spans: reads of hierarchies, placements of objects on tiers, samples of prefetchers.
 */
export type TieredOperation = 'read' | 'place' | 'prefetch';

/** Options of `instrumentTiered`. */
export interface TracingOptions {
  /** Creates the tracer. Default: the global provider, which may also be registered later. */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Operations that become spans. Default: `place` and `prefetch`. A span costs more than a small read from
   * RAM, so add `read` only together with a sampler.
   */
  readonly operations?: readonly TieredOperation[] | undefined;
  /**
   * Whether spans contain the keys of objects. If not, they do not contain the messages of errors either,
   * because these name keys. The code of the error stays. Default: true.
   */
  readonly keys?: boolean | undefined;
}

const OPERATIONS: readonly TieredOperation[] = ['read', 'place', 'prefetch'];

/**
 * Creates spans of the operations of all hierarchies and prefetchers in this process: `tiered.place`,
 * `tiered.prefetch`, and `tiered.read` if requested.
 *
 * A read within a prefetch is its child, and a placement is a child of the operation that caused it. A
 * prefetch has no parent, and neither has a placement in the background: they happen when there is room,
 * whatever is active then. So a sampler decides for each sample, and the trace of a sample that it takes is
 * complete.
 *
 * @returns A function that ends it: nothing is subscribed afterwards. Operations in flight get no span.
 * @throws TieredError `TIERED_CONFIG_INVALID` for an unknown operation.
 */
export function instrumentTiered(options: TracingOptions = {}): () => void {
  const {
    tracerProvider = trace.getTracerProvider(),
    operations = ['place', 'prefetch'],
    keys = true,
  } = options;
  const unknown = operations.find((operation) => !OPERATIONS.includes(operation));
  if (unknown !== undefined) throw configError('operations', OPERATIONS.join(', '), unknown);
  const maker = new SpanMaker({ tracer: tracerProvider.getTracer('@tiered/opentelemetry'), keys });
  const follow = {
    read: () => maker.follow(readChannel, 'tiered.read', ofReads, () => false),
    place: () => maker.follow(placeChannel, 'tiered.place', ofPlacements, ({ cause }) => cause === 'behind'),
    prefetch: () => maker.follow(prefetchChannel, 'tiered.prefetch', ofSamples, () => true),
  };
  const ends = [...new Set(operations)].map((operation) => follow[operation]());
  return () => {
    for (const end of ends.splice(0)) end();
  };
}

/** The attributes of reads. */
const ofReads: Described<ReadTrace> = {
  atStart: ({ hierarchy, operation, offset, reads }) => ({
    'tiered.hierarchy.name': hierarchy,
    'tiered.read.operation': operation,
    'tiered.read.offset': offset,
    'tiered.read.count': reads,
  }),
  atEnd: ({ bytes, level, driver, served, failed }) => ({
    'tiered.bytes': bytes,
    'tiered.level': level,
    'tiered.driver': driver,
    'tiered.read.from_tiers': unlessZero(served.fromTiers),
    'tiered.read.from_source': unlessZero(served.fromSource),
    'tiered.read.joined': unlessZero(served.joined),
    'tiered.read.empty': unlessZero(served.empty),
    'tiered.read.failed': unlessZero(failed),
  }),
};

/** The attributes of placements. */
const ofPlacements: Described<PlaceTrace> = {
  atStart: ({ hierarchy, cause, from, level, driver, size, bytes }) => ({
    'tiered.hierarchy.name': hierarchy,
    'tiered.place.cause': cause,
    'tiered.place.from_level': from,
    'tiered.level': level,
    'tiered.driver': driver,
    'tiered.object.size': size,
    'tiered.bytes': bytes,
  }),
  atEnd: ({ outcome }) => ({ 'tiered.place.outcome': outcome }),
};

/** The attributes of samples. */
const ofSamples: Described<PrefetchTrace> = {
  atStart: ({ hierarchy, epoch, position }) => ({
    'tiered.hierarchy.name': hierarchy,
    'tiered.prefetch.epoch': epoch,
    'tiered.prefetch.position': position,
  }),
  atEnd: ({ bytes, repeated }) => ({ 'tiered.bytes': bytes, 'tiered.prefetch.repeated': repeated }),
};

function unlessZero(count: number): number | undefined {
  return count === 0 ? undefined : count;
}
