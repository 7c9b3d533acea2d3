import { describe, expect, it } from 'vitest';
import { place, putFile, recorded, type Place } from './helpers.js';

const KEYS = ['a', 'dir/b', 'dir/c'];

async function withFiles(): Promise<Place> {
  const there = await place();
  for (const key of KEYS) await putFile(there.root, key, Buffer.from('bytes'));
  return there;
}

/** How often each call was begun on each path. */
function counted(lines: readonly string[] | undefined): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of lines ?? []) if (!line.includes('!')) counts[line] = (counts[line] ?? 0) + 1;
  return counts;
}

/** How often each call was begun on an object. */
function ofKey(key: string, lines: readonly string[] | undefined): Record<string, number> {
  const calls = Object.entries(counted(lines)).filter(([line]) => line.endsWith(` ${key}`));
  return Object.fromEntries(calls.map(([line, n]) => [line.split(' ')[0], n])) as Record<string, number>;
}

/** So many of each of these calls on each object. */
function each(calls: Record<string, number>): Record<string, number> {
  const entries = KEYS.flatMap((key) => Object.entries(calls).map(([call, n]) => [`${call} ${key}`, n]));
  return Object.fromEntries(entries) as Record<string, number>;
}

describe('[K3] what a read asks of the storage', () => {
  it.each(['reads', 'blocking'])(
    'is the file, its bytes, and one look at it if a version is asked for: %s',
    async (what) => {
      const calls = await recorded(what, (await withFiles()).root);
      // Each object is read twice, from one descriptor.
      expect(counted(calls.get('a version'))).toEqual(each({ open: 1, read: 2, fstat: 2 }));
      expect(counted(calls.get('any version'))).toEqual(each({ open: 1, read: 2 }));
    },
  );

  it('is the file once for each thread that reads pieces of it, and the bytes', async () => {
    const NODES_THREADS = 4;
    const { open = 0, ...rest } = ofKey(
      'a',
      (await recorded('pieces', (await withFiles()).root)).get('pieces'),
    );
    expect(open).toBeLessThanOrEqual(NODES_THREADS);
    expect(rest).toEqual({ read: 1000 });
  });
});
