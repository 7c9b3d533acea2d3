import { TieredError } from '../support/errors.js';

/** Which hierarchy has what serves one hierarchy only. */
const holders = new WeakMap<object, object>();

/**
 * Gives a part to a hierarchy that starts: for good, because it ends with that one.
 * @param part A placement, or a namespace.
 * @param hierarchy Who gets it.
 * @param field The option that it came by, and what to make anew, for the message.
 * @throws TieredError `TIERED_ALREADY_STARTED` if another one had it.
 */
export function useOnce(
  part: object,
  hierarchy: object,
  { field, made }: { readonly field: string; readonly made: string },
): void {
  if (holders.has(part)) {
    const message = `${field}: it served another hierarchy, and ends with that one; make a new ${made} for each hierarchy.`;
    throw new TieredError('TIERED_ALREADY_STARTED', message);
  }
  holders.set(part, hierarchy);
}

/** Whether a hierarchy has the part: another one may go on with it otherwise. */
export function isUsedBy(part: object, hierarchy: object): boolean {
  return holders.get(part) === hierarchy;
}
