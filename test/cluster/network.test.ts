import { SqliteRegistry } from '@tiered/cluster/registry';
import { Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { SlowMount } from '../../tools/fuse/slow-mount.js';
import { programOf } from '../processes/program.js';
import { Network, type LinkOptions } from './network.js';
import { ClusterNode } from './node.js';

const OBJECTS = 120;
const BYTES = 20_000;
const DATA = OBJECTS * BYTES;
const NODES = 4;

/** Faults of one run, and the seeds of all runs. */
const FAULTS = 3;
const SEEDS = Array.from({ length: inject('nightly') ? 8 : 1 }, (_, run) => run + 1);

const missing = Network.missing() ?? (await SlowMount.missing());
const isSkipped = missing !== undefined && process.env['CI'] !== 'true';

let directory: string;
let program: string;

beforeAll(async () => {
  directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-network-')));
  fs.mkdirSync(path.join(directory, 'data'));
  for (let i = 0; i < OBJECTS; i++)
    fs.writeFileSync(path.join(directory, 'data', `o${i}`), someBytes(BYTES, i));
  // What is native is not in the program.
  const modules = path.resolve(import.meta.dirname, '../../node_modules');
  fs.symlinkSync(modules, path.join(directory, 'node_modules'));
  program = await programOf('node', directory, path.join(import.meta.dirname, 'children'));
});

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

/** Nodes on machines of their own, over one source that counts what it gives. */
async function nodes({ ttlMs = 3_000 }: { readonly ttlMs?: number } = {}) {
  const own = fs.mkdtempSync(path.join(directory, 'run-'));
  const mount = await SlowMount.start(path.join(directory, 'data'), { readMs: 1 });
  const network = new Network(NODES);
  const all: ClusterNode[] = [];
  const registry = path.join(own, 'registry', 'nodes.db');
  const start = async (rank: number, tier = `tier-${rank}`): Promise<ClusterNode> => {
    const node = await ClusterNode.start(network, program, {
      ...{ source: mount.directory, objects: OBJECTS, bytes: BYTES, rank, size: NODES },
      ...{ registry, ttlMs, tier: path.join(own, tier), quota: 16 * 2 ** 20 },
      host: network.address(rank),
    });
    all.push(node);
    return node;
  };
  onTestFinished(async () => {
    await Promise.all(all.map((node) => node.kill()));
    network[Symbol.dispose]();
    await mount.close();
  });
  const ranks = await Promise.all(Array.from({ length: NODES }, (_, rank) => start(rank)));
  await Promise.all(ranks.map((node) => node.ask({ ask: 'gather' })));
  return { mount, network, ranks, registry, start };
}

/** Every node reads everything. */
const epoch = (ranks: readonly ClusterNode[], number: number) =>
  Promise.all(ranks.map((node) => node.ask({ ask: 'epoch', number })));

const only = (ranks: readonly ClusterNode[], ...left: number[]) =>
  ranks.filter((_, rank) => !left.includes(rank));

/** The node of a rank. */
function at(ranks: readonly ClusterNode[], rank: number): ClusterNode {
  const node = ranks[rank];
  if (node === undefined) throw new Error(`no node ${rank}`);
  return node;
}

describe.skipIf(isSkipped)('nodes on machines of their own', () => {
  it('[Z1] [Z3] read each byte of the source once, all together', async () => {
    const { mount, ranks } = await nodes();
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
    const { mount, ranks, start } = await nodes();
    const others = only(ranks, 1);
    const reading = epoch(others, 0);
    const killed = at(ranks, 1).ask({ ask: 'epoch', number: 0 });
    killed.catch(() => undefined);
    await at(ranks, 1).hasRead(20);
    await at(ranks, 1).kill();
    await reading;
    await epoch(others, 1);
    expect(mount.counts().bytes).toBeLessThanOrEqual(NODES * DATA);
    const back = await start(1);
    await back.ask({ ask: 'gather' });
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
    const { mount, network, ranks } = await nodes();
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
    const { mount, ranks, registry } = await nodes({ ttlMs: 12_000 });
    await epoch(ranks, 0);
    const directory = path.dirname(registry);
    for (const file of fs.readdirSync(directory)) fs.rmSync(path.join(directory, file));
    const begun = new SqliteRegistry({ path: registry });
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
    const { ranks } = await nodes();
    await epoch(ranks, 0);
    await at(ranks, 0).ask({ ask: 'close' });
    const told = await epoch(only(ranks, 0), 1);
    for (const { stats } of told) expect(stats.members).toBeLessThanOrEqual(NODES);
  });
});
