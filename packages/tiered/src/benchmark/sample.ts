import { Random, type ObjectStat, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** Objects that are listed at most: a listing of millions would take all the time. */
const MOST_LISTED = 10_000;

/** Objects of a source that are not empty, from the beginning of its listing, in an order by the seed. */
export async function objectsOf(
  source: StorageDriver,
  seed: number,
  signal: AbortSignal,
): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of source.list({ signal })) {
    objects.push(...page.filter(({ size }) => size > 0));
    if (objects.length >= MOST_LISTED) break;
  }
  if (objects.length === 0) throw configError('source', 'objects that are not empty', source.name);
  return Array.from(new Random(seed).permutation(objects.length)).flatMap((i) => objects[i] ?? []);
}

/** Takes objects up to a number of bytes, in their order: the smallest if all others are too large. */
export function someOf(objects: readonly ObjectStat[], bytes: number): ObjectStat[] {
  let left = bytes;
  const some = objects.filter(({ size }) => {
    if (size > left) return false;
    left -= size;
    return true;
  });
  if (some.length > 0) return some;
  const [first] = objects;
  if (first === undefined) return [];
  return [objects.reduce((smallest, object) => (object.size < smallest.size ? object : smallest), first)];
}
