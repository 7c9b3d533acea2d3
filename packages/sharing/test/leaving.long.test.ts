import { settled } from '@tiered/core/testing';
import type { Sample } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import { connect, drain, range, serve, socketPath } from './helpers.js';
import { checked, ListReader } from './list-reader.js';
import { Taker } from './taker.js';

const CLIENTS = 3;
const MEMORY = '100KiB';

/** What one of the clients does next. */
const steps = fc.array(
  fc.record({
    who: fc.nat(CLIENTS - 1),
    what: fc.constantFrom('take', 'take', 'take', 'release', 'abort', 'leave'),
    count: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 60 },
);

/** Some that lie in shared memory, and some for which there is no room there, or never. */
const sizes = fc.array(fc.oneof(fc.nat(200), fc.nat(30_000), fc.constantFrom(0, 200_000)), { maxLength: 80 });

const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);

describe('clients that come and go', () => {
  it('[P1] [P7] get each sample once between them, whoever takes, holds and leaves when, and what each holds stays as it is', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, steps, fc.boolean(), async (list, plan, sharesMemory) => {
        const reader = new ListReader(list, { epochLength: 25 });
        await using server = await servePrefetcher(reader, { path: socketPath(), clientMemory: MEMORY });
        const { path } = server;
        const clients = new Map<number, { client: PrefetchClient; held: Sample[] }>();
        const seen: number[] = [];
        for (const { who, what, count } of plan) {
          // All share memory, or the first takes what comes through the socket.
          const shares = sharesMemory || who > 0;
          const one = clients.get(who) ?? {
            client: await PrefetchClient.connect({ path, sharesMemory: shares }),
            held: [],
          };
          clients.set(who, one);
          if (what === 'take') {
            const samples = await one.client.take(count);
            seen.push(...samples.map(checked));
            one.held.push(...samples);
          } else if (what === 'release') {
            for (const sample of one.held.splice(0, count)) sample.release();
          } else if (what === 'abort') {
            const controller = new AbortController();
            const taking = one.client.take(count, { signal: controller.signal }).catch(() => undefined);
            controller.abort();
            expect(await taking).toBeUndefined();
            // What was on its way is the next take's.
            const samples = await one.client.take(count);
            seen.push(...samples.map(checked));
            one.held.push(...samples);
          } else {
            await one.client.close();
            clients.delete(who);
          }
          for (const { held } of clients.values()) for (const sample of held) checked(sample);
        }
        const last = await PrefetchClient.connect({ path });
        seen.push(...(await drain(last)));
        expect(sorted(seen)).toEqual(range(list.length));
        for (const { client } of [{ client: last }, ...clients.values()]) await client.close();
        while (server.clients > 0) await settled();
        expect(server.failures).toBe(0);
        expect(reader.held).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('[P7] [P15] as processes, one after the other, and are killed while they hold samples and wait for more: others get exactly what these were not given', async () => {
    const [victims, batch, batches] = [3, 4, 3];
    const reader = new ListReader(
      range(300).map((i) => (i * 7919) % 40_000),
      { allowed: 0 },
    );
    const server = await serve(reader, { clientMemory: MEMORY });
    const survivor = await connect(server);
    const seen: number[] = [];
    for (let victim = 0; victim < victims; victim++) {
      reader.allow(batch * batches);
      const taker = new Taker({ path: server.path, batch, holdAfter: batches });
      await taker.holds;
      await reader.until(() => reader.waiting === 1);
      taker.kill();
      expect(await taker.exited).toEqual([null, 'SIGKILL']);
      await reader.until(() => reader.waiting === 0);
      reader.allow(batch);
      const samples = await survivor.take(batch);
      seen.push(...taker.took, ...samples.map(checked));
      for (const sample of samples) sample.release();
      expect(sorted(seen)).toEqual(range(reader.lent));
    }
    reader.allow(Infinity);
    seen.push(...(await drain(survivor)));
    expect(sorted(seen)).toEqual(range(300));
    expect(server.failures).toBe(0);
  });
});
