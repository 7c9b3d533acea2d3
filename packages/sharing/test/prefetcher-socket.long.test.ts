import type { StorageDriver } from '@tiered/core';
import { FaultDriver, outcomeOf } from '@tiered/core/testing';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type Access,
  type PrefetcherOptions,
} from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import {
  collect,
  copyOf,
  expectIdle,
  holding,
  keys,
  next,
  objects,
  over,
  released,
  samplesOf,
  settled,
  started,
  WatchedDriver,
  type Copied,
} from './prefetching.js';
import { socketPath, withCode } from './helpers.js';

const SIZES = Array.from({ length: 20 }, (_, i) => 100 + i);
const sequence = listSequence(keys(20));
const expected = samplesOf(sequence, SIZES);

const place = ({ epoch, position }: Access) => 1e6 * epoch + position;
const inOrder = (samples: readonly Copied[]) => samples.toSorted((a, b) => place(a) - place(b));

/** Clients of a prefetcher over a real socket; all of it is closed when the test ends. */
async function served(source: StorageDriver, clients: number, options: PrefetcherOptions = {}) {
  const prefetcher = new Prefetcher(await over(source), sequence, options);
  const server = await servePrefetcher(prefetcher, { path: socketPath() });
  const all = await Promise.all(Array.from({ length: clients }, () => PrefetchClient.connect(server)));
  onTestFinished(async () => {
    await Promise.all(all.map((client) => client.close()));
    await server.close();
    const closed = prefetcher.close();
    await released(source, closed);
    expectIdle(prefetcher);
  });
  return { prefetcher, server, clients: all, client: all[0] as PrefetchClient };
}

describe('clients of a prefetcher behind a socket', () => {
  it('[P1] [P2] [P7] get each sample once, in order, with its bytes, for any sizes, budget and number of clients', async () => {
    const setup = fc.record({
      sizes: fc.array(fc.nat(5000), { maxLength: 25 }),
      seed: fc.nat(100),
      epochs: fc.integer({ min: 1, max: 2 }),
      memory: fc.constantFrom(0, 4096, 1e6),
      producers: fc.integer({ min: 1, max: 4 }),
      /** 0: one by one. */
      batches: fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }),
    });
    const path = socketPath();
    await fc.assert(
      fc.asyncProperty(setup, async ({ sizes, seed, epochs, batches, ...options }) => {
        const hierarchy = await started(await objects(sizes));
        const order = shuffledSequence(keys(sizes.length), { seed, epochs });
        const prefetcher = new Prefetcher(hierarchy, order, options);
        const server = await servePrefetcher(prefetcher, { path });
        const take = async (batch: number) => {
          await using client = await PrefetchClient.connect({ path });
          if (batch === 0) return await collect(client);
          const seen: Copied[] = [];
          for await (const list of client.batches(batch)) seen.push(...list.map(copyOf));
          return seen;
        };
        const parts = await Promise.all(batches.map(take));
        for (const part of parts) expect(part).toEqual(inOrder(part));
        expect(inOrder(parts.flat())).toEqual(samplesOf(order, sizes));
        await server.close();
        expectIdle(prefetcher);
        await hierarchy.close();
      }),
      { numRuns: 60 },
    );
  });

  it('[P3] [P7] get a failed read at its position, after all samples before it', async () => {
    const rules = [{ key: /^4$/, fault: { kind: 'fail' } as const }];
    const { client, prefetcher } = await served(new FaultDriver(await objects(SIZES), { rules }), 1);
    for (const sample of expected.slice(0, 4)) expect(await next(client)).toEqual(sample);
    await expect(next(client)).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
    expect(prefetcher.state()).toMatchObject({ epoch: 0, position: 4 });
  });

  it('[P3] [P7] leave a wait at an abort, and the sample goes to the next who asks', async () => {
    const driver = holding(await objects(SIZES));
    const { clients, prefetcher } = await served(driver, 2, { producers: 1 });
    const [one, two] = clients as [PrefetchClient, PrefetchClient];
    const controller = new AbortController();
    const waiting = outcomeOf(one.take(1, controller));
    while (driver.held.length === 0) await settled();
    const reason = new Error('enough');
    controller.abort(reason);
    // Answered after the other end was told of the abort.
    const read = one.readInto('5', new Uint8Array(0));
    await released(driver, read);
    expect(waiting).toEqual({ error: reason });
    while (prefetcher.stats().samples === 0 && driver.held.length > 0) await driver.release();
    expect(await released(driver, next(two))).toEqual(expected[0]);
  });

  it('[P5] [P7] read by name what the prefetcher has read ahead', async () => {
    const { client, prefetcher } = await served(await objects(SIZES), 1);
    while (prefetcher.stats().ready < 20) await settled();
    const target = new Uint8Array(200);
    expect(await client.readInto('7', target)).toBe(107);
    expect(target.subarray(0, 107)).toEqual(expected[7]?.data);
    expect(prefetcher.stats()).toMatchObject({ samples: 1, bypassed: 0 });
    expect(await collect(client)).toEqual(expected.toSpliced(7, 1));
  });

  describe('[P5] [R1] [V2] read what is longer than a piece of the server', () => {
    const SIZE = 40 * 2 ** 20;

    /** A client, and a source of which the object `big` is replaced, once, when its `n`-th read begins. */
    async function replacedAt(n: number) {
      const source = new WatchedDriver(await objects(SIZES));
      const version = (byte: number) => source.write('big', new Uint8Array(SIZE).fill(byte), { size: SIZE });
      await version(1);
      let reads = 0;
      source.before = ({ operation, key }) =>
        operation === 'readInto' && key === 'big' && reads++ === n && version(2);
      const { client, prefetcher } = await served(source, 1);
      return { client, prefetcher, version };
    }

    const versionsIn = (bytes: Uint8Array) => [1, 2].filter((version) => bytes.includes(version));

    it.each([0, 1, 2, 3])(
      'of one version, or are told that it was replaced: at read %i of the source',
      async (n) => {
        const { client } = await replacedAt(n);
        const target = new Uint8Array(SIZE);
        const reading = client.readInto('big', target);
        if (n === 0 || n === 3) {
          expect(await reading).toBe(SIZE);
          expect(versionsIn(target)).toEqual([n === 0 ? 2 : 1]);
        } else {
          await expect(reading).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED', retryable: true });
          expect(await client.readInto('big', target)).toBe(SIZE);
          expect(versionsIn(target)).toEqual([2]);
        }
      },
    );

    it('of the version that is there now, when it was replaced since it became known', async () => {
      const { client, prefetcher, version } = await replacedAt(Infinity);
      await prefetcher.readInto('big', new Uint8Array(1));
      await version(2);
      const target = new Uint8Array(SIZE);
      expect(await client.readInto('big', target)).toBe(SIZE);
      expect(versionsIn(target)).toEqual([2]);
    });
  });

  it('[P7] that are closed while samples are on their way give back what nobody got', async () => {
    const { client, prefetcher, server } = await served(await objects(SIZES), 1, { memory: 0 });
    const taking = outcomeOf(client.take(20));
    await client.close();
    while (server.clients > 0) await settled();
    expect(taking).toEqual({ error: withCode('TIERED_CLOSED') });
    expect(prefetcher.stats().lentBytes).toBe(0);
  });
});
