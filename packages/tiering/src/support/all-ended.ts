/**
 * As `Promise.all`, but settles when all promises have: only then is the memory that they write to the
 * caller's again.
 */
export async function allEnded(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises))
    if (result.status === 'rejected') throw result.reason;
}
