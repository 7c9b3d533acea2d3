import { MemoryDriver, type OperationOptions } from '@tiered/core';
import type { ReadOutcome, ReadRequest } from '@tiered/core/driver';
import { ManualClock, outcomeOf, settled, someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { GatheredReads } from '../../src/peers/gathered-reads.js';

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const DEADLINE_MS = 1_000;

interface Request {
  readonly ranges: readonly ReadRequest[];
  readonly signal: AbortSignal | undefined;
  readonly answer: () => void;
}

/** A peer that answers each request when the test says, or when nobody waits for it. */
class SlowPeer extends MemoryDriver {
  readonly requests: Request[] = [];

  override async readMany(ranges: readonly ReadRequest[], { signal }: OperationOptions) {
    const isAnswered = await new Promise<boolean>((resolve) => {
      signal?.addEventListener('abort', () => resolve(false));
      this.requests.push({ ranges, signal, answer: () => resolve(true) });
    });
    const error: unknown = signal?.reason;
    return isAnswered ? super.readMany(ranges, {}) : ranges.map(() => ({ error }));
  }
}

async function place(bytes = 100, objects = 600) {
  const clock = new ManualClock();
  const peer = new SlowPeer({ name: 'peer' });
  await peer.open({});
  for (let i = 0; i < objects; i++) await peer.write(`o${i}`, someBytes(bytes, i), { size: bytes });
  const told: (readonly ReadOutcome[])[] = [];
  const reads = new GatheredReads({
    ...{ driver: peer, clock, deadlineMs: DEADLINE_MS },
    onOutcomes: (outcomes) => told.push(outcomes),
  });
  const read = (i: number, signal?: AbortSignal, length = bytes) =>
    reads.read({ key: `o${i}`, offset: 0, length, etag: undefined, signal });
  return { clock, peer, reads, read, told, bytes };
}

const sizes = (peer: SlowPeer) => peer.requests.map(({ ranges }) => ranges.length);

describe('gathered reads', () => {
  it('of one turn are one request, and those that come meanwhile the next', async () => {
    const { peer, read } = await place();
    const first = [read(0), read(1), read(2)];
    await settled();
    const second = [read(3)];
    await settled();
    const later = [read(4), read(5), read(6)];
    await settled();
    expect(sizes(peer)).toEqual([3, 1]);
    peer.requests[0]?.answer();
    await Promise.all(first);
    await settled();
    expect(sizes(peer)).toEqual([3, 1, 3]);
    for (const { answer } of peer.requests) answer();
    const got = await Promise.all([...second, ...later]);
    got.forEach((bytes, i) => expect(Buffer.compare(bytes, someBytes(100, i + 3))).toBe(0));
  });

  it('fail where less came than was asked for', async () => {
    const { peer, read, bytes } = await place();
    const short = outcomeOf(read(0, undefined, bytes + 1));
    await settled();
    peer.requests[0]?.answer();
    await settled();
    expect(short.error).toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
  });

  it('are at most 256 in a request', async () => {
    const { peer, read } = await place();
    const all = Array.from({ length: 600 }, (_, i) => read(i));
    await settled();
    expect(sizes(peer)).toEqual([256, 256]);
    for (let at = 0; at < 3; at++) {
      peer.requests[at]?.answer();
      await settled();
      await settled();
    }
    await Promise.all(all);
    expect(sizes(peer)).toEqual([256, 256, 88]);
  });

  it('are at most 4 MiB in a request, in ranges of up to 1 MiB, but one at least', async () => {
    const { peer, read } = await place(1_500 * KIB, 5);
    const all = Array.from({ length: 5 }, (_, i) => read(i));
    await settled();
    expect(sizes(peer)).toEqual([4, 4]);
    for (const { ranges } of peer.requests)
      for (const { target } of ranges) expect(target.byteLength).toBeLessThanOrEqual(MIB);
    for (let at = 0; at < 3; at++) {
      peer.requests[at]?.answer();
      await settled();
      await settled();
    }
    (await Promise.all(all)).forEach((bytes, i) =>
      expect(Buffer.compare(bytes, someBytes(1_500 * KIB, i))).toBe(0),
    );
  });

  it('let one go at its abort, and end a request that nobody waits for', async () => {
    const { peer, read, told } = await place();
    const ends = [new AbortController(), new AbortController()];
    const [one, other] = ends.map(({ signal }, i) => outcomeOf(read(i, signal)));
    await settled();
    ends[0]?.abort('first');
    await settled();
    expect([one?.error, other?.error, peer.requests[0]?.signal?.aborted]).toEqual([
      'first',
      undefined,
      false,
    ]);
    ends[1]?.abort('second');
    await settled();
    expect([other?.error, peer.requests[0]?.signal?.aborted]).toEqual(['second', true]);
    // That says nothing of the peer.
    expect(told).toEqual([]);
  });

  it('ask for nothing that was aborted before its request', async () => {
    const { peer, read } = await place();
    const end = new AbortController();
    const gone = outcomeOf(read(0, end.signal));
    end.abort('early');
    void read(1).catch(() => undefined);
    await settled();
    expect([gone.error, sizes(peer)]).toEqual(['early', [1]]);
  });

  it('[Z2] fail at the deadline of their request, whatever the peer does, and go on', async () => {
    const { clock, peer, read, told } = await place();
    const all = [outcomeOf(read(0)), outcomeOf(read(1))];
    await settled();
    await clock.advance(DEADLINE_MS - 1);
    expect(all.map(({ error }) => error)).toEqual([undefined, undefined]);
    await clock.advance(1);
    for (const { error } of all) expect(error).toMatchObject({ code: 'TIERED_DEADLINE', retryable: true });
    expect(told).toHaveLength(1);
    const next = read(2);
    await settled();
    peer.requests[1]?.answer();
    expect(Buffer.compare(await next, someBytes(100, 2))).toBe(0);
    expect(clock.sleeping).toBe(0);
  });

  it('[Z2] fail at the deadline, also those that wait for requests before them', async () => {
    const { clock, peer, read } = await place();
    for (const i of [0, 1]) {
      void outcomeOf(read(i));
      await settled();
    }
    const waiting = outcomeOf(read(2));
    await clock.advance(DEADLINE_MS);
    await settled();
    expect(waiting.error).toMatchObject({ code: 'TIERED_DEADLINE', retryable: true });
    expect(sizes(peer)).toEqual([1, 1]);
    expect(clock.sleeping).toBe(0);
  });

  it('[Z7] end all at once, those under way and those that wait', async () => {
    const { reads, read } = await place();
    const under = [read(0), read(1)].map(outcomeOf);
    await settled();
    const waiting = [read(2)].map(outcomeOf);
    await reads.end();
    await settled();
    for (const { error } of [...under, ...waiting]) expect(error).toMatchObject({ code: 'TIERED_CLOSED' });
    await expect(read(3)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  });
});
