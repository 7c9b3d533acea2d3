import type { Attributes } from '@opentelemetry/api';
import type { PlaceTrace, PrefetchTrace, ReadTrace } from '@tiered/core/tracing';

/** What the spans of one operation say, apart from the key. */
export interface Described<Context> {
  /** Known when it begins, so that samplers see it. */
  readonly atStart: (context: Context) => Attributes;
  readonly atEnd: (context: Context) => Attributes;
}

/** The attributes of reads. */
export const ofReads: Described<ReadTrace> = {
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
export const ofPlacements: Described<PlaceTrace> = {
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
export const ofSamples: Described<PrefetchTrace> = {
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
