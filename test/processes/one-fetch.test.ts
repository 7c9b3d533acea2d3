import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { describeNative } from '../../packages/native/test/helpers.js';
import type { Child } from './child.js';
import { makeDataset } from './dataset.js';
import { sourceOf, type Place } from './place.js';
import { tierProcesses } from './tier-processes.js';

const PROCESSES = 3;

const processes = tierProcesses();

/** Processes that share the tier, and know it. Each has placed an object of its own. */
async function begin(place: Place, keys: readonly string[]): Promise<Child[]> {
  const children = await Promise.all(Array.from({ length: PROCESSES }, () => processes.begin(place)));
  await Promise.all(children.map((child, i) => child.ask({ ask: 'place', key: keys[i] ?? '' })));
  return children;
}

const bytesOf = (place: Place, keys: readonly string[]) =>
  keys.reduce((sum, key) => sum + fs.statSync(path.join(sourceOf(place), key)).size, 0);

describeNative('processes that fill one tier', () => {
  it.each([
    { layout: 'files', readers: 1 },
    { layout: 'packed', readers: 1 },
    { layout: 'files', readers: 4 },
    { layout: 'packed', readers: 4 },
  ] as const)(
    '[F1] processes that read the same objects in the same order have each fetched once, in $layout, by $readers of each',
    async ({ layout, readers }) => {
      const place: Place = {
        directory: processes.directory,
        quota: 64 * 2 ** 20,
        policy: 'firstFit',
        layout,
      };
      // Of one chunk of 16 KiB, two and three.
      const keys = makeDataset(place, 200, 48 * 1024);
      const children = await begin(place, keys);
      const answers = await Promise.all(children.map((child) => child.ask({ ask: 'read', keys, readers })));
      expect(answers.map(({ wrong }) => wrong)).toEqual(children.map(() => []));
      expect(answers.reduce((sum, { brought }) => sum + brought, 0)).toBe(bytesOf(place, keys));
    },
  );

  it('[F1] [T3] a process that is killed or stopped while others wait for what it fetches keeps nobody', async () => {
    const place: Place = { directory: processes.directory, quota: 64 * 2 ** 20, policy: 'firstFit' };
    const keys = makeDataset(place, 400, 48 * 1024);
    const [killed, stopped, last] = await begin(place, keys);
    if (killed === undefined || stopped === undefined || last === undefined) throw new Error('too few');
    killed.tell({ ask: 'readForever', seed: 1 });
    stopped.tell({ ask: 'readForever', seed: 2 });
    await Promise.all([killed.hears('reads'), stopped.hears('reads')]);
    stopped.signal('SIGSTOP');
    await killed.kill();
    expect((await last.ask({ ask: 'read', keys })).wrong).toEqual([]);
    stopped.signal('SIGCONT');
  });
});
