import { SqliteRegistry } from '@tiered/cluster/registry';
import { Random } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import type { LinkOptions } from '../../tools/servers/network.js';
import { at, DATA, describeNodes, epoch, NODES, OBJECTS, only, seen } from './nodes.js';

/** Faults of one run, and the seeds of all runs. */
const FAULTS = 3;
const SEEDS = Array.from({ length: inject('nightly') ? 8 : 1 }, (_, run) => run + 1);

/** Where the source is counted to the byte: nobody is late, or counts as gone, on a machine that is busy. */
const PATIENT = { ttlMs: 12_000, deadlineMs: 60_000 };

describeNodes('nodes on machines of their own', (nodes) => {
  it('[Z1] [Z3] read each byte of the source once, all together', async () => {
    const { mount, ranks } = await nodes(PATIENT);
    await epoch(ranks, 0);
    expect(mount.counts().bytes).toBe(DATA);
    const told = await epoch(ranks, 1);
    expect(mount.counts().bytes).toBe(DATA);
    for (const { stats } of told) expect(stats).toMatchObject({ inVain: 0, members: NODES });
  });

  it.each<[string, LinkOptions]>([
    ['loses packets', { lossPercent: 5 }],
    ['is slow', { rate: '10mbit' }],
  ])('[Z1] [Z2] read every byte right over a network that %s', async (_, link) => {
    const { mount, network, ranks } = await nodes();
    for (let node = 0; node < NODES; node++) network.shape(node, link);
    for (let number = 0; number < 2; number++) await epoch(ranks, number);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
  });

  it('[Z2] go on without a node that is killed, and with it when it is back', async () => {
    const { mount, ranks, start } = await nodes({ ...PATIENT, ttlMs: 3_000 });
    const others = only(ranks, 1);
    const reading = epoch(others, 0);
    const killed = at(ranks, 1).ask({ ask: 'epoch', number: 0 });
    killed.catch(() => undefined);
    await at(ranks, 1).hasRead(20);
    await at(ranks, 1).kill();
    await reading;
    await epoch(others, 1);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
    await seen(others, NODES - 2);
    const back = await start(1);
    await seen([...others, back], NODES - 1);
    await epoch([...others, back], 2);
    const before = mount.counts().bytes;
    await epoch([...others, back], 3);
    // All objects have a place again.
    expect(mount.counts().bytes).toBe(before);
  });

  it('[Z2] go on without a node that is stopped, which goes on later', async () => {
    const { mount, ranks } = await nodes();
    const stopped = at(ranks, 2).ask({ ask: 'epoch', number: 0 });
    await at(ranks, 2).hasRead(10);
    at(ranks, 2).signal('SIGSTOP');
    await epoch(only(ranks, 2), 0);
    await epoch(only(ranks, 2), 1);
    at(ranks, 2).signal('SIGCONT');
    await stopped;
    await epoch(ranks, 2);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
  });

  it('[Z2] go on where the network is cut, each side with the source', async () => {
    const { mount, network, ranks } = await nodes({ ttlMs: PATIENT.ttlMs });
    const reading = epoch(ranks, 0);
    await at(ranks, 3).hasRead(20);
    network.cut(3);
    await reading;
    await epoch(ranks, 1);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
    network.shape(3, {});
    const told = await epoch(ranks, 2);
    for (const { stats } of told) expect(stats.perPeer).toHaveLength(NODES - 1);
  });

  it('[Z2] [Z6] go on with another one of the rank of one that is stopped, which goes on by itself', async () => {
    const { mount, ranks, start } = await nodes();
    await epoch(ranks, 0);
    at(ranks, 2).signal('SIGSTOP');
    const other = await start(2, 'another-tier');
    await other.ask({ ask: 'gather' });
    const now = [...only(ranks, 2), other];
    await epoch(now, 1);
    at(ranks, 2).signal('SIGCONT');
    const told = await epoch([...now, at(ranks, 2)], 2);
    expect(told.map(({ stats }) => stats.rank)).toEqual([0, 1, 3, 2, 2]);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
  });

  it('[Z3] [Z6] go on when the registry is deleted, and read nothing twice', async () => {
    const { mount, ranks, file } = await nodes(PATIENT);
    await epoch(ranks, 0);
    const directory = path.dirname(file);
    for (const name of fs.readdirSync(directory)) fs.rmSync(path.join(directory, name));
    const begun = new SqliteRegistry({ path: file });
    onTestFinished(() => begun.close());
    await begun.open({});
    let number = 1;
    while ((await begun.all({})).length < NODES) await epoch(ranks, number++);
    const told = await epoch(ranks, number);
    expect(mount.counts().bytes).toBe(DATA);
    for (const { stats } of told) expect(stats).toMatchObject({ inVain: 0, members: NODES });
  });

  it.each(SEEDS)(
    '[Z1] [Z2] read every byte right, whatever happens to one after the other (seed %d)',
    async (seed) => {
      const { mount, network, ranks, start } = await nodes();
      const random = new Random(seed, 0);
      const faults: Record<string, (rank: number) => unknown> = {
        kill: (rank) => at(ranks, rank).kill(),
        stop: (rank) => at(ranks, rank).signal('SIGSTOP'),
        cut: (rank) => network.cut(rank),
        loss: (rank) => network.shape(rank, { lossPercent: 5 }),
        slow: (rank) => network.shape(rank, { rate: '10mbit' }),
      };
      for (let number = 0; number < FAULTS; number++) {
        const rank = random.below(NODES);
        const fault = Object.keys(faults)[random.below(Object.keys(faults).length)] ?? '';
        const before = mount.counts().bytes;
        const others = epoch(only(ranks, rank), number);
        const own = at(ranks, rank).ask({ ask: 'epoch', number });
        own.catch(() => undefined);
        await at(ranks, rank).hasRead(1 + random.below(OBJECTS / 2));
        await faults[fault]?.(rank);
        await others;
        if (fault === 'kill') {
          ranks[rank] = await start(rank);
          await at(ranks, rank).ask({ ask: 'gather' });
        } else {
          at(ranks, rank).signal('SIGCONT');
          await own;
          network.shape(rank, {});
        }
        expect(mount.counts().bytes - before, `${fault} ${rank}`).toBeLessThanOrEqual(NODES * DATA);
      }
    },
  );

  it('[Z7] leave, and ask nobody who has left', async () => {
    const { ranks } = await nodes(PATIENT);
    await epoch(ranks, 0);
    await at(ranks, 0).ask({ ask: 'close' });
    const left = only(ranks, 0);
    await seen(left, NODES - 2);
    const told = await epoch(left, 1);
    for (const { stats } of told) expect(stats).toMatchObject({ inVain: 0, asked: { failed: 0 } });
  });
});
