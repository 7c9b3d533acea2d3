import type { Sample } from '@tiered/prefetch';
import fc from 'fast-check';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { settled } from '@tiered/core/testing';
import type { Served } from './children/serve-list.js';
import { describeMemory } from './describe-memory.js';
import { connect, drain, range, serve, socketPath, withCode } from './helpers.js';
import { bytesOf, checked, ListReader } from './list-reader.js';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import { Taker } from './taker.js';

const MIB = 2 ** 20;

/** Which samples lie in shared memory of so many bytes: others have memory of their own, of their length. */
const inMemory = (samples: readonly Sample[], memoryBytes: number) =>
  samples.filter(({ data }) => data.buffer.byteLength === memoryBytes).length;

/**
 * The memories that this process has mapped, by their inodes: what other tests have left goes when it is
 * collected.
 */
function mapped(): string[] {
  const lines = fs.readFileSync('/proc/self/maps', 'utf8').split('\n');
  return lines.filter((line) => line.includes('memfd:tiered')).map((line) => line.split(/ +/)[4] ?? '');
}

/** How many mappings there are of memories that were not there before. */
function mappedSince(before: readonly string[]): number {
  return mapped().filter((inode) => !before.includes(inode)).length;
}

/** Descriptors of memory that are open here. */
function descriptors(): number {
  return fs.readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`).includes('memfd:tiered');
    } catch {
      // That of the directory itself.
      return false;
    }
  }).length;
}

/** A server in a process of its own. */
async function serveElsewhere(sizes: readonly number[], env: NodeJS.ProcessEnv = {}) {
  const served: Served = { path: socketPath(), sizes };
  const script = path.join(import.meta.dirname, 'children/serve-list.ts');
  const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(served)];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return { child, path: served.path };
}

describeMemory('samples in shared memory', () => {
  it('[P15] lie there until they are released, and their place serves others then', async () => {
    const sizes = range(200).map((i) => 1 + ((i * 7919) % 60_000));
    const client = await connect(await serve(new ListReader(sizes), { clientMemory: MIB }));
    expect(client.transport).toBe('memory');
    const seen: number[] = [];
    for await (const samples of client.batches(8)) {
      expect(inMemory(samples, MIB)).toBe(samples.length);
      seen.push(...samples.map(checked));
    }
    expect(seen).toEqual(range(200));
  });

  it('[P15] that find no room there, or never could, come through the socket; nothing waits for a release', async () => {
    const sizes = [...range(20).map(() => 100_000), 2 * MIB, 0, 5];
    const client = await connect(await serve(new ListReader(sizes), { clientMemory: MIB }));
    const samples: Sample[] = [];
    while (samples.length < 23) samples.push(...(await client.take(4)));
    expect(samples.map(checked)).toEqual(range(23));
    expect(inMemory(samples.slice(0, 20), MIB)).toBe(10);
    expect(inMemory(samples.slice(20, 22), MIB)).toBe(0);
    expect(await client.take(1)).toEqual([]);
  });

  it('[P4] [P15] are those of nobody else until they are released, in whatever order that happens', async () => {
    const step = fc.record({
      take: fc.integer({ min: 1, max: 6 }),
      release: fc.array(fc.nat(), { maxLength: 6 }),
    });
    const sizes = fc.array(fc.oneof(fc.nat(200), fc.nat(30_000)), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { minLength: 1 }), async (list, steps) => {
        const server = await serve(new ListReader(list), { clientMemory: '100KiB' });
        const client = await connect(server);
        const held: Sample[] = [];
        let next = 0;
        for (let i = 0; next < list.length; i++) {
          const { take, release } = steps[i % steps.length] ?? { take: 1, release: [] };
          for (const sample of await client.take(take)) {
            expect(checked(sample)).toBe(next++);
            held.push(sample);
          }
          for (const place of release) {
            const [sample] = held.splice(place % Math.max(1, held.length), 1);
            sample?.release();
            sample?.release();
            if (sample !== undefined) expect(() => sample.data).toThrow(withCode('TIERED_CLOSED'));
          }
          for (const sample of held) checked(sample);
        }
        await server.close();
        // What was received stays when the server is gone.
        for (const sample of held) checked(sample);
        await client.close();
      }),
      { numRuns: 40 },
    );
  });

  it('[P15] are not seen by other clients, and what a client writes there is its own', async () => {
    const server = await serve(new ListReader(range(40).map(() => 20_000)));
    const [one, other] = [await connect(server), await connect(server)];
    const [mine, theirs] = [await one.take(20), await other.take(20)];
    for (const { data } of mine) new Uint8Array(data.buffer).fill(1);
    expect(theirs.map(checked)).toEqual(range(40).slice(20));
    expect(mine[0]?.data[0]).toBe(1);
  });

  it('that are transferred by who was lent one end the connection, and say so', async () => {
    setFlagsFromString('--allow-natives-syntax');
    const detach = runInNewContext('(buffer) => %ArrayBufferDetach(buffer)') as (
      buffer: ArrayBufferLike,
    ) => void;
    const client = await connect(await serve(new ListReader([10, 10, 10])));
    const [sample] = await client.take(1);
    // As `ArrayBuffer.prototype.transfer` of later versions of Node does.
    if (sample !== undefined) detach(sample.data.buffer);
    for (let i = 0; i < 2; i++)
      await expect(client.take(1)).rejects.toEqual(withCode('TIERED_VIEW_TRANSFERRED'));
  });

  it('are only there if both sides want that', async () => {
    const server = await serve(new ListReader([10, 20]));
    const client = await PrefetchClient.connect({ path: server.path, sharesMemory: false });
    onTestFinished(() => client.close());
    expect(client.transport).toBe('socket');
    const [sample] = await client.take(1);
    expect(sample?.data.buffer.byteLength).toBe(10);
    expect((await connect(await serve(new ListReader([]), { clientMemory: 0 }))).transport).toBe('socket');
    for (const clientMemory of [-1, '2GiB'] as const)
      await expect(servePrefetcher(new ListReader([]), { path: socketPath(), clientMemory })).rejects.toEqual(
        withCode('TIERED_CONFIG_INVALID'),
      );
  });

  it('leave no descriptor, and no memory behind when both have closed', async () => {
    const server = await serve(new ListReader(range(100)));
    const before = mapped();
    const clients = await Promise.all(range(8).map(() => connect(server)));
    expect(descriptors()).toBe(0);
    expect((await Promise.all(clients.map(drain))).flat().length).toBe(100);
    expect(mappedSince(before)).toBe(16);
    await Promise.all(clients.map((client) => client.close()));
    // Those of the server; those of the clients are the garbage collector's, and empty.
    while (mappedSince(before) > 8) await settled();
    expect(server.failures).toBe(0);
  });

  it('[P7] [P15] of a process that is killed while it holds them are freed, and others get all that it was not given', async () => {
    const reader = new ListReader(
      range(300).map((i) => i * 100),
      { allowed: 12 },
    );
    const server = await serve(reader);
    const before = mapped();
    const victim = new Taker({ path: server.path, batch: 4, holdAfter: 3 });
    await victim.holds;
    expect(await victim.transport).toBe('memory');
    expect(mappedSince(before)).toBe(1);
    expect(descriptors()).toBe(0);
    victim.kill();
    await victim.exited;
    while (server.clients > 0) await settled();
    while (mappedSince(before) > 0) await settled();
    reader.allow(Infinity);
    expect(await drain(await connect(server))).toEqual(range(300).slice(12));
  });

  it('[P7] [P15] outlive a server that is killed, for the client that holds them', async () => {
    const server = await serveElsewhere(range(30).map(() => 50_000));
    const client = await connect(server);
    expect(client.transport).toBe('memory');
    const samples = await client.take(20);
    const waiting = client.readInto('slow', new Uint8Array(1)).catch((error: unknown) => error);
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    expect(await waiting).toEqual(withCode('TIERED_UNAVAILABLE'));
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_UNAVAILABLE'));
    expect(samples.map(checked)).toEqual(range(20));
    const view = samples[3]?.data;
    expect(view).toEqual(bytesOf(3, 50_000));
    await client.close();
    expect(() => samples[3]?.data).toThrow(withCode('TIERED_CLOSED'));
    expect(view?.every((byte) => byte === 0)).toBe(true);
  });

  it.each(['server', 'client'])('come through the socket if the %s has no native part', async (side) => {
    const without = { TIERED_NATIVE: '0' };
    const sizes = range(30).map(() => 5000);
    const server = await serveElsewhere(sizes, side === 'server' ? without : {});
    const taker = new Taker({ path: server.path, batch: 4 }, side === 'client' ? without : {});
    expect(await taker.transport).toBe('socket');
    expect(await taker.exited).toEqual([0, null]);
    expect(taker.took).toEqual(range(30));
  });
});
