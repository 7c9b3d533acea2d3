import { Random } from '@tiered/core';
import fs from 'node:fs';
import { expect, it } from 'vitest';
import type { ChildOptions, Fault } from './child.js';
import { makeDataset } from './dataset.js';
import { bytesOnDisk } from './disk.js';
import { openIndexOf } from './index-of.js';
import { membersOf, tierOf, type Place } from './place.js';
import { expectSoundIndex } from './sound.js';
import { tierProcesses } from './tier-processes.js';

const SHARING = 3;
const KILLS = 6;

const processes = tierProcesses();

const begin = (place: Place, as: ChildOptions['as']) => processes.begin(place, { as });

/** What another one evicted is missing until it is looked at what others did. */
const isEvicted = ({ operation, code }: Fault) => operation.startsWith('read') && code === 'TIERED_NOT_FOUND';

const kinds = ['thread', 'clusterWorker'] as const;

it.each(kinds)(
  '[T3] [R1] each %s has a hierarchy of its own over one tier, and they serve each other',
  async (as) => {
    const place: Place = { directory: processes.directory, quota: 4_000_000, policy: 'firstFit' };
    const keys = makeDataset(place, 30, 60_000);
    const sharing = await Promise.all(Array.from({ length: SHARING }, () => begin(place, as)));
    const inIndex = () =>
      openIndexOf(place, (all) => all('SELECT id FROM members').map(({ id }) => String(id))).sort();
    expect(inIndex()).toEqual(fs.readdirSync(membersOf(place)).sort());
    expect(inIndex()).toHaveLength(SHARING);
    for (let epoch = 0; epoch < 5; epoch++) {
      const read = await Promise.all(sharing.map((one) => one.ask({ ask: 'read', keys })));
      expect(read.map(({ wrong }) => wrong)).toEqual(sharing.map(() => []));
      await Promise.all(sharing.map((one) => one.ask({ ask: 'idle' })));
    }
    // One that ends in order takes nothing from the others.
    await sharing.pop()?.ask({ ask: 'close' });
    for (const one of sharing) {
      const before = await one.ask({ ask: 'idle' });
      const { wrong, brought } = await one.ask({ ask: 'read', keys });
      expect({ wrong, brought: brought - before.brought, faults: one.faults }).toEqual({
        wrong: [],
        brought: 0,
        faults: [],
      });
    }
    expect(inIndex()).toHaveLength(SHARING - 1);
    await Promise.all(sharing.map((one) => one.ask({ ask: 'close' })));
    expectSoundIndex(place);
    expect(fs.readdirSync(membersOf(place))).toEqual([]);
  },
);

it.each(kinds)(
  '[T3] [T4] [R1] [Q1] a %s that is ended in the middle of whatever it does leaves nothing wrong to the others, nor over the quota',
  async (as) => {
    const place: Place = { directory: processes.directory, quota: 2_000_000, policy: 'lru' };
    const keys = makeDataset(place, 60, 100_000);
    const random = new Random(1);
    let sharing = await Promise.all(Array.from({ length: SHARING }, () => begin(place, as)));
    for (const one of sharing) one.tell({ ask: 'readForever', seed: random.uint32() });
    for (let kills = 0; kills < KILLS; kills++) {
      await sharing.at(-1)?.hears('reads', 1 + random.below(3));
      const [first, ...others] = sharing;
      await first?.kill();
      sharing = [...others, await begin(place, as)];
      sharing.at(-1)?.tell({ ask: 'readForever', seed: random.uint32() });
      expect(bytesOnDisk(tierOf(place))).toBeLessThanOrEqual(place.quota);
    }
    for (const one of sharing) await one.hears('reads');
    for (const child of processes.all) {
      expect(child.said.filter(({ say }) => say === 'wrong')).toEqual([]);
      expect(child.faults.filter((fault) => !isEvicted(fault))).toEqual([]);
    }
    await Promise.all(processes.all.map((child) => child.kill()));
    const last = await begin(place, as);
    expect((await last.ask({ ask: 'read', keys })).wrong).toEqual([]);
    await last.ask({ ask: 'close' });
    expectSoundIndex(place);
  },
);
