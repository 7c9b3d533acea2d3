import { configError } from '@tiered/core/internal';
import picomatch from 'picomatch';
import { firstFit } from './first-fit.js';
import { fits, type PlacementPolicy } from './policy.js';

/** Pins objects to a level. */
export interface Pin {
  /** A glob for keys: `*` within a path segment, `**` across segments, `{a,b}`. */
  readonly pattern: string;
  /** The level that the objects live on. `'source'` leaves them in the source. */
  readonly level: number | 'source';
}

/** Options of `pinned`. */
export interface PinnedOptions {
  /** The pins. The first one that matches an object's key decides. */
  readonly pins: readonly Pin[];
  /** The policy for objects that no pin matches. Default: `firstFit`. */
  readonly otherwise?: PlacementPolicy | undefined;
}

/**
 * Places objects whose keys match a pattern on the level of that pin, and nowhere else: for example
 * validation data in RAM, or an index that must never be read from the source. A pinned object that does not
 * fit on its level stays in the source. No room is reserved for objects that come later: place them first,
 * with `hierarchy.place`.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a pin without a pattern, or with an invalid level.
 */
export function pinned({ pins, otherwise = firstFit }: PinnedOptions): PlacementPolicy {
  const rules = pins.map(({ pattern, level }, index) => {
    if (typeof pattern !== 'string' || pattern === '')
      throw configError(`pins[${index}].pattern`, 'a glob such as "val/**"', pattern);
    if (level !== 'source' && !(Number.isSafeInteger(level) && level >= 0))
      throw configError(`pins[${index}].level`, 'the number of a tier, or "source"', level);
    return { matches: picomatch(pattern, { dot: true }), level };
  });
  return {
    ...otherwise,
    name: 'pinned',
    assertLevels: (tiers) => {
      otherwise.assertLevels?.(tiers);
      const last = tiers - 1;
      for (const [index, { level }] of rules.entries())
        if (level !== 'source' && level > last)
          throw configError(
            `placement.policy.pins[${index}].level`,
            `the number of a tier, which are 0 to ${last}, or "source"`,
            level,
          );
    },
    place: (object, tiers) => {
      const rule = rules.find(({ matches }) => matches(object.key));
      if (rule === undefined) return otherwise.place(object, tiers);
      return tiers.find((tier) => tier.level === rule.level && fits(object, tier))?.level;
    },
  };
}
