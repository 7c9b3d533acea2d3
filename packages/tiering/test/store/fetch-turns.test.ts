import { Hierarchy } from '@tiered/core';
import type { HomeLocks } from '@tiered/core/driver';
import { loadChecksum } from '@tiered/core/internal';
import { HoldingDriver, IndexedMemoryDriver, ManualClock, MemoryLocks, settled } from '@tiered/core/testing';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';
import { Worker } from 'node:worker_threads';
import { turnOrCopy } from '../../src/admission/turn-or-copy.js';
import { indexThreads } from '../../src/index/index-client.js';
import { FetchTurns, OtherFetch, type FetchTurn } from '../../src/tier/fetch-turns.js';
import { memoryWith, objectsOf, until } from '../helpers.js';

const OBJECT = { key: 'a', version: '1' };
const clock = new ManualClock();
const checksum = await loadChecksum();

function turnsWith(locks: HomeLocks | undefined, isShared = true): FetchTurns {
  return new FetchTurns({ locks, clock, checksum, dataset: 'd', isShared: () => isShared });
}

function mine(turn: FetchTurn | OtherFetch | undefined): FetchTurn {
  if (turn === undefined || turn instanceof OtherFetch) throw new Error('no turn');
  return turn;
}

it('[F1] one of several has the turn to fetch a version of an object, until that ends', () => {
  const locks = new MemoryLocks();
  const [one, other] = [turnsWith(locks.of('one')), turnsWith(locks.of('other'))];
  const turn = mine(one.begin(OBJECT));
  expect(other.begin(OBJECT)).toBeInstanceOf(OtherFetch);
  mine(other.begin({ ...OBJECT, version: '2' })).end();
  turn.end();
  mine(other.begin(OBJECT)).end();
  mine(one.begin(OBJECT));
  locks.end('one');
  mine(other.begin(OBJECT)).end();
});

it('[F1] readers of one process have the turn until the last of them ends it, once', () => {
  const locks = new MemoryLocks();
  const [one, other] = [turnsWith(locks.of('one')), turnsWith(locks.of('other'))];
  const [first, second] = [mine(one.begin(OBJECT)), mine(one.begin(OBJECT))];
  second.end();
  second.end();
  expect(other.begin(OBJECT)).toBeInstanceOf(OtherFetch);
  first.end();
  mine(other.begin(OBJECT)).end();
});

it('[F1] a process that gets no locks any more lets go of those that it has', () => {
  const locks = new MemoryLocks();
  const own = locks.of('one');
  const refusing = { isFull: false };
  const take = (number: number) => {
    if (refusing.isFull) throw new Error('ENOLCK');
    return own.take(number);
  };
  const [one, other] = [turnsWith({ ...own, take }), turnsWith(locks.of('other'))];
  const [turn, waiting] = [mine(one.begin(OBJECT)), one.wait()];
  refusing.isFull = true;
  expect(one.begin({ ...OBJECT, key: 'b' })).toBeUndefined();
  waiting.end();
  turn.end();
  expect(other.isWaitedFor).toBe(false);
  mine(other.begin(OBJECT)).end();
});

it.each(['at its first look', 'after the fetch of another'])(
  '[B1] [F1] who leaves %s leaves no turn behind, whatever the look comes to',
  async (when) => {
    const locks = new MemoryLocks();
    const [one, other] = [turnsWith(locks.of('one')), turnsWith(locks.of('other'))];
    const others = when === 'at its first look' ? undefined : mine(other.begin(OBJECT));
    const abort = new AbortController();
    let looks = 0;
    let goOn: (copy: undefined) => void = () => undefined;
    const look = () => {
      looks += 1;
      const isLast = looks > 1 || others === undefined;
      return isLast ? new Promise<undefined>((resolve) => (goOn = resolve)) : Promise.resolve(undefined);
    };
    const closing = new AbortController().signal;
    const turns = { turnFor: () => one.begin(OBJECT) };
    const object = { ...OBJECT, id: 0, size: 1 };
    const left = turnOrCopy(turns, object, look, closing, abort.signal).catch((error: unknown) => error);
    await settled();
    others?.end();
    await clock.advance(1);
    expect(looks).toBe(others === undefined ? 1 : 2);
    expect(other.begin(OBJECT)).toBeInstanceOf(OtherFetch);
    const enough = new Error('enough');
    abort.abort(enough);
    expect(await left).toBe(enough);
    goOn(undefined);
    await settled();
    mine(other.begin(OBJECT)).end();
    expect(other.isWaitedFor).toBe(false);
  },
);

it('[F1] nobody takes turns without locks, alone on a tier, or when the kernel keeps none', () => {
  const broken = () => {
    throw new Error('ENOLCK');
  };
  const failing = { take: broken, share: broken, release: broken, isTaken: broken };
  for (const turns of [
    turnsWith(undefined),
    turnsWith(new MemoryLocks().of('one'), false),
    turnsWith(failing),
  ]) {
    expect(turns.begin(OBJECT)).toBeUndefined();
    expect(turns.isShared && turns.isWaitedFor).toBe(false);
  }
});

it('[F1] a fetch of another process is waited for two seconds, which it is shown, and then for a while not', async () => {
  const locks = new MemoryLocks();
  const [one, other] = [turnsWith(locks.of('one')), turnsWith(locks.of('other'))];
  mine(one.begin(OBJECT));
  const fetch = other.begin(OBJECT);
  if (!(fetch instanceof OtherFetch)) throw new Error('its own turn');
  let looks = 0;
  const look = async () => {
    looks += 1;
    return other.begin(OBJECT) instanceof OtherFetch ? undefined : 'go on';
  };
  expect(one.isWaitedFor).toBe(false);
  const waited = fetch.until(look, new AbortController().signal, undefined);
  expect([one.isWaitedFor, other.isWaitedFor]).toEqual([true, false]);
  await clock.advance(1900);
  expect(looks).toBeGreaterThan(10);
  await clock.advance(200);
  expect(await waited).toBe('go on');
  expect(one.isWaitedFor).toBe(false);
  expect(other.begin({ ...OBJECT })).toBeUndefined();
  await clock.advance(10_000);
  expect(other.begin(OBJECT)).toBeInstanceOf(OtherFetch);
});

/**
 * Two that share two tiers and place all on the first one, and a source whose answers wait.
 * @param placeByOne The policy of the first.
 */
async function two(
  placeByOne: (key: string) => number = () => 0,
  { clock: ofBoth }: { readonly clock?: ManualClock } = {},
) {
  const objects = objectsOf([20, 20, 20]);
  const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
  const drivers = [new IndexedMemoryDriver(), new IndexedMemoryDriver()];
  const open = async (place: (key: string) => number) => {
    const policy = { ...firstFit, place: ({ key }: { readonly key: string }) => place(key) };
    const placement = new PlacementHandler({ chunk: 20, policy });
    const tiers = drivers.map((driver) => ({ driver, quota: 1000 }));
    const h = new Hierarchy({ source, tiers, placement, clock: ofBoth });
    onTestFinished(() => h.close());
    return h.open();
  };
  const [one, other] = [await open(placeByOne), await open(() => 0)];
  // By a transaction each learns of the other.
  for (const [h, key] of [
    [one, '1'],
    [other, '2'],
  ] as const) {
    const placed = h.place(key);
    await until(() => source.held.length === 1);
    await source.releaseAll();
    await placed;
  }
  return { objects, source, one, other };
}

it('[F1] readers of two processes wait for one request, and the second is served by the copy', async () => {
  const { objects, source, one, other } = await two();
  const bytes = objects.get('0');
  const first = one.read('0');
  await until(() => source.held.length === 1);
  const others = [other.read('0'), other.read('0', { offset: 5, length: 5 })];
  const placed = other.place('0');
  for (let turns = 0; turns < 100; turns++) await settled();
  expect(source.held.length).toBe(1);
  await source.releaseAll();
  expect(await first).toEqual(bytes);
  expect(await Promise.all(others)).toEqual([bytes, bytes?.subarray(5, 10)]);
  expect(await placed).toBe(0);
  expect(other.stats().source.readBytes).toBe(20);
});

it('[F1] readers of one process beside each other are served by one request, and so are those of another', async () => {
  const { objects, source, one, other } = await two();
  const bytes = objects.get('0');
  const reads = [one.read('0'), one.read('0', { offset: 5, length: 5 }), one.read('0')];
  await until(() => source.held.length === 1);
  reads.push(other.read('0'));
  for (let turns = 0; turns < 100; turns++) await settled();
  expect(source.held.length).toBe(1);
  await source.releaseAll();
  expect(await Promise.all(reads)).toEqual([bytes, bytes?.subarray(5, 10), bytes, bytes]);
});

/** Answers to lookups in an index, which wait while they are held. Other calls are answered. */
interface Answers {
  isHolding: boolean;
  readonly held: (() => void)[];
}

/** The answers of the indexes that are opened from now on. */
function answersOfIndexes(): readonly Answers[] {
  const all: Answers[] = [];
  const { begin } = indexThreads;
  onTestFinished(() => void (indexThreads.begin = begin));
  indexThreads.begin = (options, gate) => {
    const thread = begin(options, gate);
    if (!(thread instanceof Worker)) throw new TypeError('an index is in a thread');
    const answers: Answers = { isHolding: false, held: [] };
    all.push(answers);
    const lookups = new Set<number>();
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (call: { readonly id: number; readonly call: string } | undefined) => {
      if (call?.call === 'find') lookups.add(call.id);
      post(call);
    };
    const emit = thread.emit.bind(thread);
    thread.emit = (event: string, ...values: never[]) => {
      const [answer] = values as { readonly id?: number }[];
      const isLookup = event === 'message' && lookups.has(answer?.id ?? -1);
      if (!isLookup || !answers.isHolding) return emit(event, ...values);
      answers.held.push(() => void emit(event, ...values));
      return true;
    };
    return thread;
  };
  return all;
}

function letGo(answers: Answers): void {
  answers.isHolding = false;
  for (const goOn of answers.held.splice(0)) goOn();
}

it('[F1] a look that began before the copy was there is not taken for one that was made in turn', async () => {
  const indexes = answersOfIndexes();
  const { objects, source, one, other } = await two();
  const [, , index] = indexes;
  if (index === undefined) throw new Error('no index');
  const first = one.read('0');
  await until(() => source.held.length === 1);
  index.isHolding = true;
  const early = other.read('0');
  await until(() => index.held.length === 1);
  await source.releaseAll();
  await first;
  await one.idle();
  const late = other.read('0');
  letGo(index);
  expect(await Promise.all([early, late])).toEqual([objects.get('0'), objects.get('0')]);
  expect(other.stats().source.readBytes).toBe(20);
});

it('[F1] a reader whose look ends after another one had the object placed is served by that copy', async () => {
  const indexes = answersOfIndexes();
  const { objects, source, other } = await two();
  const [, , , ofSlower] = indexes;
  if (ofSlower === undefined) throw new Error('no index');
  ofSlower.isHolding = true;
  const first = other.read('0');
  await until(() => ofSlower.held.length === 1);
  const second = other.read('0', { offset: 5, length: 5 });
  await settled();
  ofSlower.held.shift()?.();
  await until(() => source.held.length === 1 && ofSlower.held.length === 1);
  await source.releaseAll();
  expect(await first).toEqual(objects.get('0'));
  await other.idle();
  letGo(ofSlower);
  for (let turns = 0; turns < 100; turns++) await settled();
  expect(source.held.length).toBe(0);
  expect(await second).toEqual(objects.get('0')?.subarray(5, 10));
});

it('[F1] a policy that throws keeps nobody from fetching', async () => {
  const bug = new Error('a bug');
  let asked = 0;
  const place = (key: string) => {
    // Once for the turn, once for the fill.
    if (key === '0') asked += 1;
    if (asked === 2) throw bug;
    return 0;
  };
  const { objects, source, one, other } = await two(place, { clock: new ManualClock(settled) });
  await expect(one.read('0')).rejects.toThrow(bug);
  const read = other.read('0');
  // Time stands still, so it waits for nobody.
  await until(() => source.held.length === 1);
  await source.releaseAll();
  expect(await read).toEqual(objects.get('0'));
});

it('[F1] [B1] a reader that leaves, or a source that fails, keeps nobody from fetching', async () => {
  const { objects, source, one, other } = await two();
  const first = one.read('0').catch((error: unknown) => error);
  await until(() => source.held.length === 1);
  const abort = new AbortController();
  const left = other.read('0', { signal: abort.signal }).catch((error: unknown) => error);
  const second = other.read('0');
  for (let turns = 0; turns < 100; turns++) await settled();
  const enough = new Error('enough');
  abort.abort(enough);
  expect(await left).toBe(enough);
  const broken = new Error('broken');
  await source.release({ error: broken });
  expect(await first).toBe(broken);
  await until(() => source.held.length === 1);
  await source.releaseAll();
  expect(await second).toEqual(objects.get('0'));
});
