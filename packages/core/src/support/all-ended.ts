/**
 * As `Promise.all`, but settles when all promises have: only then is the memory that they write to the
 * caller's again.
 */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
