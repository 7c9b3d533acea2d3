import { systemClock } from '@tiered/core';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import type { PeerCounts } from '../src/index.js';
import { MemoryRecords } from '../src/registry/memory-registry.js';
import { BrokenPeer, right, send, type Answer } from './broken-peer.js';
import { sourceOf, worker } from './helpers.js';

const BYTES = 5_000;
const OBJECTS = new Map(Array.from({ length: 8 }, (_, i) => [`o${i}`, someBytes(BYTES, i)]));
const KEYS = [...OBJECTS.keys()];
/** On the clock of the test; what waits for the machine is given as long. */
const DEADLINE_MS = 60_000;
/** The first pause of a peer that is left alone. */
const PAUSE_MS = 1_000;
/** All objects are to be kept by the broken one. */
const PLAN = { homes: Uint16Array.of(0), sampleOf: () => 0 };

/** A worker that has no tiers, and whose only peer is broken. */
async function withBrokenPeer(answer: Answer) {
  const source = await sourceOf(OBJECTS);
  const working = await worker({
    source,
    records: new MemoryRecords(systemClock),
    rank: 0,
    size: 2,
    plan: PLAN,
  });
  const peer = await BrokenPeer.start(working.cluster.endpoint ?? '', answer);
  const clock = new ManualClock();
  const records = new MemoryRecords(clock);
  peer.enter(records, 0, 2);
  // No read is asked twice.
  const bounds = { deadlineMs: DEADLINE_MS, lateAfterMs: 10 * DEADLINE_MS };
  const own = await worker({ source, records, rank: 1, size: 2, quota: '0', plan: PLAN, clock, ...bounds });
  const read = async (...keys: readonly string[]) => {
    await Promise.all(
      keys.map(async (key) => {
        const bytes = await own.hierarchy.read(key);
        expect(Buffer.compare(bytes, OBJECTS.get(key) ?? new Uint8Array()), key).toBe(0);
      }),
    );
  };
  const toldOf = (event: 'peerOut' | 'peerBack') =>
    new Promise<void>((resolve) => own.cluster.once(event, () => resolve()));
  return { ...own, peer, clock, read, toldOf, counts: () => own.cluster.stats().perPeer[0] };
}

/** The answer of a working peer with something else in place of a text, which has as many letters. */
const with_ =
  (text: (tar: Buffer) => string, other: (text: string) => string): Answer =>
  async ({ response, rightAnswer }) => {
    const tar = await rightAnswer();
    const found = text(tar);
    tar.write(other(found), tar.indexOf(found, 0, 'latin1'), 'latin1');
    send(response, tar);
  };

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  ({ response }) =>
    void response.writeHead(code, headers).end('<Error><Code>Wrong</Code></Error>');

/** Sends something for as long as somebody takes it. */
const endless =
  (first: (tar: Buffer) => Buffer): Answer =>
  async ({ response, rightAnswer }) => {
    response.setHeader('content-type', 'application/x-tar').write(first(await rightAnswer()));
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(2 ** 16)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };

const breaking: Answer = async ({ response, rightAnswer }) => {
  const tar = await rightAnswer();
  response.writeHead(200, { 'content-type': 'application/x-tar', 'content-length': tar.byteLength });
  response.write(tar.subarray(0, 3_000), () => response.destroy());
};

/** What is behind the ETag in the comment of an entry: its checksum. */
const checksumIn = (tar: Buffer) => /comment="[^"]*" ([0-9a-f]+)\n/.exec(tar.toString('latin1'))?.[1] ?? '';
const etagIn = (tar: Buffer) => /comment="([^"]*)" /.exec(tar.toString('latin1'))?.[1] ?? '';
const otherDigits = (text: string) => text.replaceAll(/./g, (letter) => (letter === '1' ? '2' : '1'));

type Fault = readonly [what: string, answer: Answer, counted: keyof PeerCounts];

const AT_ONCE: readonly Fault[] = [
  [
    'wrong bytes',
    with_((tar) => tar.toString('latin1', tar.byteLength - 6_000).slice(0, 99), otherDigits),
    'damaged',
  ],
  ['bytes with the checksum of others', with_(checksumIn, otherDigits), 'damaged'],
  ['a body without an end', endless((tar) => tar.subarray(0, 3_000)), 'damaged'],
  ['a header of an entry without an end', endless(() => Buffer.from('x'.repeat(100))), 'damaged'],
  [
    'half of an answer',
    async ({ response, rightAnswer }) => send(response, (await rightAnswer()).subarray(0, 3_000)),
    'damaged',
  ],
  ['a page of another program', ({ response }) => void response.end('<html>'), 'damaged'],
];

const AFTER_THREE: readonly Fault[] = [
  ['another version', with_(etagIn, otherDigits), 'changed'],
  [
    'another object',
    async ({ response, rightAnswer }) => send(response, await rightAnswer(['o7'])),
    'failed',
  ],
  ['a connection that breaks in the middle', breaking, 'failed'],
  ['no answer, but the end of the connection', ({ response }) => void response.destroy(), 'failed'],
  ['a header that is too large', status(200, { 'x-large': 'x'.repeat(2 ** 20) }), 'failed'],
  ['a redirect', status(307, { location: 'http://127.0.0.1:1/' }), 'failed'],
  ['403 each time', status(403), 'failed'],
  ['404 each time', status(404), 'failed'],
  ['500 each time', status(500), 'failed'],
  ['503 each time', status(503, { 'retry-after': '3600' }), 'failed'],
];

describe('a peer that answers with', () => {
  it.each([
    ...AT_ONCE.map((fault) => [...fault, 1] as const),
    ...AFTER_THREE.map((fault) => [...fault, 3] as const),
  ])(
    '[Z1] [Z2] %s costs no read its bytes, is left alone, and asked again later',
    async (_, answer, counted, faults) => {
      const { cluster, peer, clock, read, toldOf, counts } = await withBrokenPeer(answer);
      for (const key of KEYS) await read(key);
      expect(counts()).toMatchObject({ reads: 0, [counted]: faults, isAsked: false });
      expect(peer.requests).toBe(faults);
      // Still broken: nobody waits for it, and it is left alone for longer.
      await clock.advance(PAUSE_MS);
      const out = toldOf('peerOut');
      await read('o0');
      await out;
      await clock.advance(PAUSE_MS);
      await read('o0');
      expect(peer.requests).toBe(faults + 1);
      peer.answer = right;
      await clock.advance(PAUSE_MS);
      const back = toldOf('peerBack');
      await read('o0');
      await back;
      const { peers } = cluster.stats();
      await read(...KEYS);
      expect(cluster.stats().peers.reads).toBe(peers.reads + KEYS.length);
    },
  );
});

describe('a peer that', () => {
  it.each<[string, Answer]>([
    ['does not answer', () => undefined],
    ['drips', ({ response }) => void response.setHeader('content-type', 'application/x-tar').write('o')],
  ])('[Z2] %s is waited for once, for no longer than the deadline, and then by nobody', async (_, answer) => {
    const { peer, clock, read, toldOf, counts } = await withBrokenPeer(answer);
    const asked = peer.isAsked();
    const reading = read('o0');
    await asked;
    await clock.advance(DEADLINE_MS);
    await reading;
    await read(...KEYS);
    expect(counts()).toMatchObject({ reads: 0, failed: 1, isAsked: false });
    expect(peer.requests).toBe(1);
    await clock.advance(PAUSE_MS);
    const tried = peer.isAsked();
    await read('o0');
    await tried;
    // The clock stands still: nobody waits.
    await read(...KEYS);
    expect(peer.requests).toBe(2);
    const out = toldOf('peerOut');
    await clock.advance(DEADLINE_MS);
    await out;
    peer.answer = right;
    await clock.advance(2 * PAUSE_MS);
    const back = toldOf('peerBack');
    await read('o0');
    await back;
    await read(...KEYS);
    expect(counts()).toMatchObject({ reads: 1 + KEYS.length, isAsked: true });
  });

  it('[Z1] [Z2] answers many in another order gives none of them, and is left alone after three', async () => {
    const reversed: Answer = async ({ response, keys, rightAnswer }) =>
      send(response, await rightAnswer(keys.toReversed()));
    const { peer, read, counts } = await withBrokenPeer(reversed);
    for (let again = 0; again < 5; again++) await read(...KEYS);
    expect(counts()).toMatchObject({ reads: 0, failed: 3 * KEYS.length, isAsked: false });
    expect(peer.requests).toBe(3);
  });

  it('[Z2] does not answer costs a read one deadline, whoever was to be asked next', async () => {
    const clock = new ManualClock();
    const records = new MemoryRecords(clock);
    const peers = await Promise.all([0, 1].map(() => BrokenPeer.start('', () => undefined)));
    for (const [rank, peer] of peers.entries()) peer.enter(records, rank, 3);
    const planTo = (rank: number) => ({ homes: Uint16Array.of(rank), sampleOf: () => 0 });
    const { cluster, hierarchy } = await worker({
      ...{ source: await sourceOf(OBJECTS), records, rank: 2, size: 3, quota: '0', clock },
      ...{ plan: planTo(0), deadlineMs: DEADLINE_MS, lateAfterMs: 10 * DEADLINE_MS },
    });
    // The former home is asked first.
    cluster.usePlan(planTo(1));
    const asked = peers[0]?.isAsked();
    const reading = hierarchy.read('o0');
    await asked;
    await clock.advance(DEADLINE_MS);
    expect(Buffer.compare(await reading, OBJECTS.get('o0') ?? new Uint8Array())).toBe(0);
    expect(peers.map(({ requests }) => requests)).toEqual([1, 0]);
  });
});
