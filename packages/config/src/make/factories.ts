import { isTieredError } from '@tiered/core';
import type { Problems } from '../check/problems.js';
import type { Path } from '../file/document.js';
import { isMapping } from './mapping.js';

/**
 * Returns what a factory makes. What it throws becomes a problem of the option that the message begins with,
 * or else of all options.
 */
export function runFactory<Made>(
  problems: Problems,
  where: Path,
  given: unknown,
  make: () => Made,
): Made | undefined {
  try {
    const made = make();
    if (typeof made === 'object' && made !== null) return made;
    throw new Error('the factory made nothing of these options');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [field = ''] = message.split(': ', 1);
    if (!isTieredError(error, 'TIERED_CONFIG_INVALID') || !isMapping(given) || !Object.hasOwn(given, field))
      problems.add(where, message, error);
    else problems.add([...where, field], message.slice(field.length + 2), error, where);
    return undefined;
  }
}
