import type { HierarchyConfig } from '@tiered/config';
import fc from 'fast-check';

const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });

const milliseconds = fc.double({ min: 0.5, max: 100, noNaN: true });
const count = fc.integer({ min: 1, max: 100 });
const size = (units: readonly string[]) =>
  fc.oneof(
    fc.integer({ min: 2 ** 22, max: 2 ** 40 }),
    fc
      .tuple(fc.integer({ min: 8, max: 999 }), fc.constantFrom(...units))
      .map(([digits, unit]) => `${digits}${unit}`),
    fc.constant('${SIZE}'),
  );
const large = size(['MiB', ' GB', 'TiB', '.5 gib']);
/** Of memory. Three tiers have room. */
const share = fc.constantFrom('1%', '12.5 %', '33%', '${PERCENT}%');
const name = fc.string({ minLength: 1 }).map((text) => text.replaceAll('$', 'S'));

const decorators = fc.record({
  prefix: fc.constantFrom('part/', 'p', '${SIZE}/'),
  retry: optional(
    fc.record(
      { attempts: count, baseDelayMs: milliseconds, maxDelayMs: milliseconds, seed: fc.nat() },
      { requiredKeys: [] },
    ),
  ),
  limit: optional(fc.record({ concurrency: count })),
  throttle: optional(
    fc.record({ latencyMs: milliseconds, bytesPerSecond: large, concurrency: count }, { requiredKeys: [] }),
  ),
});

/** What only a source may have. */
const ofSource = fc.record(
  {
    hedge: fc.record(
      {
        budget: fc.double({ min: 0.01, max: 1, noNaN: true }),
        percentile: fc.double({ min: 0.5, max: 0.999, noNaN: true }),
        minDelayMs: milliseconds,
        memory: large,
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

/** Options of a driver that takes any: under keys that no level has, and without variables. */
const anyOptions = fc.dictionary(
  fc.string({ unit: fc.constantFrom('a', 'b', '.', ' ', '-', ':', '#', '"', '\n') }).map((key) => `x${key}`),
  fc.jsonValue({ noUnicodeString: false }).filter((value) => !/\$|__proto__/.test(JSON.stringify(value))),
);

/**
 * Configurations that work.
 * @param noting What a driver of the tests is named by; the source is one.
 */
export function someConfig(noting: string): fc.Arbitrary<HierarchyConfig> {
  const source = fc
    .tuple(anyOptions, decorators, ofSource)
    .map(([options, around, own]) => ({ ...options, ...around, ...own, driver: noting }));
  const tier = fc
    .tuple(
      fc.oneof(
        fc.record({ driver: fc.constant(noting), quota: large }),
        fc.record({ driver: fc.constant('memory'), name, quota: fc.oneof(large, share) }),
      ),
      anyOptions,
      decorators,
    )
    .map(([level, options, around]) => ({
      ...(level.driver === noting && options),
      ...level,
      ...around,
    }));
  const placement = fc.record(
    {
      policy: fc.constantFrom('firstFit', 'lru', 'planFollower', { name: 'firstFit' }),
      concurrency: count,
      chunk: fc.constantFrom(4096, '64KiB', '1 MB'),
      memory: large,
    },
    { requiredKeys: [] },
  );
  const prefetcher = fc.record(
    { memory: large, concurrency: count, onError: fc.constantFrom('throw', 'skip'), maxSkipped: count },
    { requiredKeys: [] },
  );
  const producers = fc.constantFrom({}, { producers: 4 }, { initialProducers: 16 });
  return (
    fc
      .record(
        {
          $schema: fc.string().map((text) => text.replaceAll('$', '')),
          source,
          tiers: fc.array(tier, { maxLength: 3 }),
          placement,
          prefetcher: fc.tuple(prefetcher, producers).map(([some, many]) => ({ ...some, ...many })),
          gateway: fc.constantFrom({}, { changing: ['**/_versions/*', '*.{json,log}'] }, { writes: [] }),
          monitor: fc.constantFrom('monitor', './run/${SIZE}'),
          scan: fc.boolean(),
        },
        { requiredKeys: ['source'] },
      )
      // Files know neither undefined nor -0.
      .map((config) => JSON.parse(JSON.stringify(config)) as HierarchyConfig)
  );
}
