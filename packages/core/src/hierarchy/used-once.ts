import { TieredError } from '../support/errors.js';

/** For each part that serves one hierarchy only: the hierarchy that uses it. */
const holders = new WeakMap<object, object>();

/**
 * Assigns a part to a hierarchy that starts. The assignment is permanent, because the part ends with that
 * hierarchy.
 * @param part A placement, or a namespace.
 * @param hierarchy The new user.
 * @param field The option that brought the part, and what to make anew, for the message.
 * @throws TieredError `TIERED_ALREADY_OPEN` if another hierarchy used it.
 */
export function useOnce(
  part: object,
  hierarchy: object,
  { field, made }: { readonly field: string; readonly made: string },
): void {
  if (holders.has(part)) {
    const message = `${field}: it served another hierarchy, and ends with that one; make a new ${made} for each hierarchy.`;
    throw new TieredError('TIERED_ALREADY_OPEN', message);
  }
  holders.set(part, hierarchy);
}

/** Whether a hierarchy uses the part. If not, another hierarchy may use it. */
export function isUsedBy(part: object, hierarchy: object): boolean {
  return holders.get(part) === hierarchy;
}
