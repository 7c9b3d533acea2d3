import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { rawRecords } from '@tiered/formats/raw';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset, type Dataset, type DatasetOptions } from 'tiered';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const OBJECTS = 60;
const BYTES = 5000;
const KEYS = Array.from({ length: OBJECTS }, (_, i) => `d${i % 3}/o${100 + i}`);

/** A directory of objects, and a place for the registry. */
async function place() {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-cluster-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  const source = path.join(directory, 'source');
  for (const [i, key] of KEYS.entries()) {
    await fs.mkdir(path.dirname(path.join(source, key)), { recursive: true });
    await fs.writeFile(path.join(source, key), someBytes(BYTES, i));
  }
  return { source, registry: { sqlite: path.join(directory, 'registry', 'training.db') } };
}

interface Told extends Partial<Omit<DatasetOptions, 'source' | 'cluster'>> {
  readonly source: string;
  readonly cluster: Omit<NonNullable<DatasetOptions['cluster']>, 'name'>;
}

/** On a machine that is busy, an answer may take long; a second request would be counted. */
const PATIENT = { deadlineMs: 600_000 };

/** A worker, which ends with the test. */
async function opened({ cluster, ...options }: Told): Promise<Dataset> {
  const common = { tiers: ['ram:8MiB'], progress: false } as const;
  const dataset = await openDataset({
    ...common,
    ...options,
    cluster: { name: 'training', ...PATIENT, ...cluster },
  });
  onTestFinished(() => dataset.close());
  return dataset;
}

async function refusal(opening: Promise<unknown>): Promise<string> {
  const error = await opening.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (isTieredError(error, 'TIERED_CONFIG_INVALID')) return error.message;
  throw new Error('It was not refused.', { cause: error });
}

describe('workers that a configuration names', () => {
  it('[Z3] read each byte of the source once, whoever needs it, and tell peers from the source', async () => {
    const { source, registry } = await place();
    const of = (rank: number) => opened({ source, cluster: { registry, rank, size: 2 } });
    const all = await Promise.all([of(0), of(1)]);
    for (const { cluster } of all) expect(await cluster?.gathered({ timeoutMs: 600_000 })).toBe(true);
    for (const dataset of all)
      for await (const { key, data } of dataset.epochs({ shuffle: false }))
        expect(data).toEqual(someBytes(BYTES, KEYS.indexOf(key)));
    const stats = all.map(({ hierarchy }) => hierarchy.stats());
    expect(stats.reduce((sum, { source: { readBytes } }) => sum + readBytes, 0)).toBe(OBJECTS * BYTES);
    for (const { peers } of stats) expect(peers?.readBytes).toBeGreaterThan(0);
    expect(all[0]?.report()).toMatch(/^peers: \d+ requests, .*$/m);
    expect(all[0]?.report()).toMatch(/% of the bytes came from tiers and peers; .* from own tiers$/m);
    await all[1]?.close();
    expect(all[1]?.cluster?.endpoint).toBeDefined();
  });

  it('[Z3] read from the source what it gives sooner by the profile', async () => {
    const { source, registry } = await place();
    const directory = path.dirname(source);
    const curve = (MBps: number) => ({ points: [[1, MBps]] });
    const profile = {
      version: 1,
      objectBytes: BYTES,
      source: { name: 'source', read: curve(1000) },
      tiers: [{ name: 'ram', read: curve(10_000) }],
      peers: { name: 'peers', read: curve(1) },
    };
    await fs.writeFile(path.join(directory, 'profile.json'), JSON.stringify(profile));
    const of = async (rank: number) => {
      const file = path.join(directory, `worker-${rank}.json`);
      const cluster = { name: 'training', registry, rank, size: 2, ...PATIENT };
      const levels = {
        source: { driver: 'fs', root: source },
        tiers: [{ driver: 'memory', quota: '8MiB' }],
      };
      await fs.writeFile(file, JSON.stringify({ ...levels, model: 'profile.json', cluster }));
      const dataset = await openDataset(file);
      onTestFinished(() => dataset.close());
      return dataset;
    };
    const all = await Promise.all([of(0), of(1)]);
    for (const { cluster } of all) expect(await cluster?.gathered({ timeoutMs: 600_000 })).toBe(true);
    for (const { hierarchy, cluster } of all) {
      for (const key of KEYS) await hierarchy.read(key);
      expect(cluster?.stats()).toMatchObject({ peers: { reads: 0 } });
      expect(cluster?.stats().preferred).toBeGreaterThan(0);
    }
  });

  it('[Z3] make one plan of what their loaders read', async () => {
    const { source, registry } = await place();
    const placement = { policy: 'planFollower' };
    const of = (rank: number) => opened({ source, placement, cluster: { registry, rank, size: 2 } });
    const all = await Promise.all([of(0), of(1)]);
    const order = { seed: 3, epochs: 2, batchSize: 5, ranks: 2, clairvoyant: true } as const;
    const format = rawRecords({ recordBytes: BYTES });
    const read = await Promise.all(
      all.map(async (dataset, rank) => {
        let count = 0;
        for await (const batch of await dataset.loader({ format, rank, ...order }))
          count += batch.data.length;
        return count;
      }),
    );
    expect(read).toEqual([OBJECTS, OBJECTS]);
    const bytes = all.map(({ hierarchy }) => hierarchy.stats().source.readBytes);
    expect(bytes[0] ?? 0).toBeLessThan(OBJECTS * BYTES);
    expect((bytes[0] ?? 0) + (bytes[1] ?? 0)).toBe(OBJECTS * BYTES);
  });

  it('[Z6] are refused with the difference if they have other data, another order or other room', async () => {
    const [one, other] = [await place(), await place()];
    const { registry } = one;
    await opened({ source: one.source, cluster: { registry } });
    const foreign = await refusal(opened({ source: other.source, cluster: { registry } }));
    expect(foreign).toContain('cluster: not all have the same source: expected');
    expect(foreign).toContain(other.source);

    const follows = { source: one.source, placement: { policy: 'planFollower' } };
    const plan = { sampler: 'torch', seed: 1, epochs: 2 } as const;
    const next = { registry: other.registry, size: 2 };
    await opened({ ...follows, cluster: { ...next, plan } });
    const reordered = refusal(opened({ ...follows, cluster: { ...next, plan: { ...plan, seed: 2 } } }));
    expect(await reordered).toContain(
      'cluster: not all have the same plan: expected "torch, seed 1, epochs 2',
    );
    const smaller = refusal(opened({ ...follows, tiers: ['ram:4MiB'], cluster: { ...next, plan } }));
    expect(await smaller).toContain(
      'cluster: not all have the same tiers: expected "8388608 bytes in files"',
    );
  });

  it('[Z9] are alone on their machine unless told otherwise, and need a secret then', async () => {
    const { source, registry } = await place();
    const token = 'a secret of sixteen or more';
    const open = await refusal(opened({ source, cluster: { registry, host: '0.0.0.0' } }));
    expect(open).toContain('cluster.token: expected a secret of at least 16 characters');
    const dataset = await opened({ source, cluster: { registry, token } });
    const endpoint = dataset.cluster?.endpoint ?? '';
    expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${endpoint}/objects/${KEYS[0]}`)).status).toBe(403);
    const stranger = opened({ source, cluster: { registry, token: 'another one of as many' } });
    await dataset.cluster?.gathered({ timeoutMs: 600_000 });
    for await (const { key, data } of (await stranger).epochs())
      expect(data).toEqual(someBytes(BYTES, KEYS.indexOf(key)));
    expect((await stranger).hierarchy.stats().peers?.reads).toBe(0);
  });

  it('find each other by a list, and serve at the own place in it', async () => {
    const { source } = await place();
    const peers = ['http://127.0.0.1:1', 'http://worker-1.training:9440'];
    const away = await refusal(opened({ source, cluster: { registry: { peers }, rank: 1 } }));
    expect(away).toContain(
      'cluster.host: expected an address that others reach as worker-1.training, such as 0.0.0.0',
    );

    vi.stubEnv('WORLD_SIZE', '2');
    vi.stubEnv('TIERED_PEERS', 'localhost:{local}');
    expect(await refusal(opened({ source, cluster: { registry: 'torch' } }))).toContain('RANK: expected');
  });
});
