/** As `Promise.all`, but settles when all have: memory that they write to is the caller's again only then. */
export async function allEnded(promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises))
    if (result.status === 'rejected') throw result.reason;
}
