import { isTieredError, Random, type ObjectStat, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** Most objects that are listed; some of them are read. A listing of millions would take all the time. */
const KEYS_LISTED = 10_000;
/** Most objects that a peer is asked for repeatedly, and most that it is found to lack before that. */
const OBJECTS_OF_PEER = 256;
const MISSES = 2048;

/** Returns objects of a source that are not empty, in an order that the seed determines. */
export async function someObjects(
  source: StorageDriver,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of source.list({ signal })) {
    objects.push(...page.filter(({ size }) => size > 0));
    if (objects.length >= KEYS_LISTED) break;
  }
  if (objects.length === 0) throw configError('source', 'objects that are not empty', source.name);
  return Array.from(new Random(seed).permutation(objects.length)).flatMap((i) => objects[i] ?? []);
}

/** Returns objects that a peer serves, as many as one measurement reads. */
export async function objectsOfPeer(
  peers: StorageDriver,
  objects: readonly ObjectStat[],
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<ObjectStat[]> {
  const given: ObjectStat[] = [];
  let [left, missed] = [bytes, 0];
  for (const object of objects) {
    if (left <= 0 || given.length === OBJECTS_OF_PEER || missed === MISSES) break;
    try {
      const { key, size, version } = object;
      await peers.read(key, { offset: 0, length: size, version, signal });
      given.push(object);
      left -= size;
    } catch (error) {
      if (!isTieredError(error, 'TIERED_NOT_FOUND')) throw error;
      missed += 1;
    }
  }
  return given;
}

/** Returns as many of the objects as there is room for. */
export function firstThatFit(objects: readonly ObjectStat[], capacity: number): ObjectStat[] {
  let left = capacity;
  return objects.filter(({ size }) => {
    if (size > left) return false;
    left -= size;
    return true;
  });
}
