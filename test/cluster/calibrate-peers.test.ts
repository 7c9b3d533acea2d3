import { Cluster } from '@tiered/cluster';
import { OnePeerDriver } from '@tiered/cluster/internal';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { someBytes } from '@tiered/core/testing';
import { calibrate, parseProfile, peerModelOf } from '@tiered/simulator/calibration';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tiered } from '../../packages/tiered/test/cli/run-tiered.js';

const TOKEN = 'a secret of the workers';
const QUICK = { seconds: 0.2, bytes: '1MB', concurrencies: [1, 4] } as const;
const BYTES = 10_000;
const OBJECTS = 20;

/** A directory of objects, and a worker that keeps all that it is asked for. */
async function served() {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-peers-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (let i = 0; i < OBJECTS; i++) await writeFile(path.join(directory, `o${i}`), someBytes(BYTES, i));
  const records = new MemoryRecords(systemClock);
  const cluster = await Cluster.join({ registry: new MemoryRegistry(records), token: TOKEN });
  const hierarchy = await new Hierarchy({
    source: cluster.source(new FileSystemDriver({ root: directory })),
    tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: '1MiB' }],
    placement: new PlacementHandler({ policy: cluster.policy(firstFit) }),
  }).open();
  await cluster.serve(hierarchy);
  onTestFinished(async () => {
    await hierarchy.close();
    await cluster.close();
  });
  return { directory, hierarchy, url: cluster.endpoint ?? '' };
}

it('measures what another worker gives, for the model by which workers choose', async () => {
  const { directory, hierarchy, url } = await served();
  const source = new FileSystemDriver({ root: directory });
  const peers = new OnePeerDriver({ url, token: TOKEN });
  const profile = parseProfile(await calibrate({ source }, { ...QUICK, peers }));
  expect(profile.peers?.read.points.map(([at]) => at)).toEqual([1, 4]);
  for (const [, rate] of profile.peers?.read.points ?? []) expect(rate).toBeGreaterThan(0);
  const model = peerModelOf(profile, 2);
  expect([model.peerMs(1000, 1), model.sourceMs(1000, 1)].every((ms) => ms > 0)).toBe(true);
  await hierarchy.idle();
  expect(hierarchy.stats().placement.placed).toBeGreaterThan(0);
});

it('says so if the other worker keeps nothing of the source', async () => {
  const { url } = await served();
  const source = new MemoryDriver({ name: 'source' });
  await source.write('other', someBytes(BYTES, 1), { size: BYTES });
  const peers = new OnePeerDriver({ url, token: TOKEN });
  await expect(calibrate({ source }, { ...QUICK, peers })).rejects.toMatchObject({
    code: 'TIERED_CONFIG_INVALID',
    message: expect.stringMatching(/^peers: expected a worker that keeps objects of this source/) as unknown,
  });
});

it('is a command, with the token of the environment', async () => {
  const { directory, url } = await served();
  const own = await mkdtemp(path.join(os.tmpdir(), 'tiered-peers-'));
  onTestFinished(() => rm(own, { recursive: true }));
  const file = path.join(own, 'tiers.json');
  await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: directory } }));
  vi.stubEnv('TIERED_TOKEN', TOKEN);
  onTestFinished(() => void vi.unstubAllEnvs());
  const ran = await tiered('calibrate', file, '--seconds', '0.2', '--bytes', '1MB', '--peers', url);
  expect(ran).toMatchObject({ code: 0 });
  expect(parseProfile(JSON.parse(ran.out)).peers?.read.points).toHaveLength(6);
  expect(await tiered('calibrate', file, '--peers', 'worker-1')).toMatchObject({
    code: 2,
    messages: expect.stringContaining('--peers: expected the URL of a worker') as unknown,
  });
});
