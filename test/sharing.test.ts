import { Random } from '@tiered/core';
import { HoldingDriver, settled } from '@tiered/core/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KillPoint } from './children/killing-driver.js';
import type { Request, Said } from './children/train-on-request.js';
import {
  bytesOf,
  diskUsage,
  hierarchyOf,
  objectsOf,
  putObject,
  readEpoch,
  tierOf,
  type Place,
} from './training.js';

const CHUNK = 4096;
const OBJECTS = 40;

let directory: string;
let trainers: Trainer[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-sharing-'));
  trainers = [];
});

afterEach(() => {
  for (const trainer of trainers) trainer.kill();
  fs.rmSync(directory, { recursive: true, force: true });
});

type Answer = Said & { say: 'done' };

/** A process that trains on a place, and does what it is told. */
class Trainer {
  readonly pid: number | undefined;
  readonly faults: string[] = [];
  readonly exited: Promise<unknown[]>;
  readonly started: Promise<Answer>;
  /** Called with every message, while the process goes on. */
  onSaid: (said: Said) => unknown = () => undefined;
  readonly #child: ChildProcess;
  #answer: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  /** @param kill When it is to kill itself, if it is. */
  constructor(place: Place, kill?: KillPoint) {
    const script = path.join(import.meta.dirname, 'children/train-on-request.ts');
    const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(place)];
    if (kill !== undefined) args.push(JSON.stringify(kill));
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.pid = this.#child.pid;
    this.started = this.#next();
    this.exited = once(this.#child, 'exit');
    this.#child.on('message', (said: Said) => this.#hear(said));
    this.#child.on('exit', () =>
      this.#answer?.reject(new Error('a process ended in the middle of its work')),
    );
    trainers.push(this);
  }

  ask(request: Request): Promise<Answer> {
    this.#child.send(request);
    return this.#next();
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) => (this.#answer = { resolve, reject }));
  }

  #hear(said: Said): void {
    if (said.say === 'fault') this.faults.push(said.key);
    this.onSaid(said);
    if (said.say === 'done') this.#answer?.resolve(said);
  }
}

/** A dataset of 40 objects of up to 4 chunks, whose content differs with `seed`, and a tier for a part of it. */
function newPlace(quota: number, dataset = 'source', seed = 0): Place {
  const place: Place = { directory, quotas: [quota], chunk: CHUNK, policy: 'firstFit', dataset };
  const random = new Random(1);
  for (let i = 0; i < OBJECTS; i++) putObject(place, `dir/${i}`, random.below(4 * CHUNK), 1 + i + seed);
  return place;
}

/** What is on the tier, as long as it is within the quota and has no object twice. */
function expectSound(datasets: readonly Place[]): { bytes: number; temporary: string[] } {
  const [place] = datasets;
  if (place === undefined) throw new Error('no dataset');
  const root = tierOf(place, 0);
  const { bytes, copies, temporary } = diskUsage(root);
  expect(bytes, 'bytes on the disk').toBeLessThanOrEqual(place.quotas[0] ?? 0);
  const owners = copies.map((copy) => ownerOf(fs.readFileSync(path.join(root, copy)), datasets));
  expect(new Set(owners).size, 'objects on the disk').toBe(owners.length);
  return { bytes, temporary };
}

/** The one object whose beginning this is. */
function ownerOf(copy: Buffer, datasets: readonly Place[]): string {
  for (const place of datasets)
    for (const [key, bytes] of objectsOf(place))
      if (bytes.byteLength >= copy.byteLength && copy.equals(bytes.subarray(0, copy.byteLength)))
        return `${place.dataset ?? ''} ${key}`;
  throw new Error('a copy of no object');
}

it('[T3] [R1] [Q1] three processes in turns: what one placed serves the others, and is brought once', async () => {
  const place = newPlace(180_000);
  const keys = [...objectsOf(place).keys()];
  const all = [1, 2, 3].map((seed) => ({
    trainer: new Trainer(place),
    order: [...new Random(seed).permutation(keys.length)],
  }));
  await Promise.all(all.map(({ trainer }) => trainer.started));
  let brought = 0;
  let used = 0;
  for (let turn = 0; turn < keys.length; turn++) {
    for (const { trainer, order } of all) {
      const answer = await trainer.ask({ ask: 'object', key: keys[order[turn] ?? 0] ?? '' });
      brought += answer.brought;
      used = answer.usedBytes;
    }
    expectSound([place]);
  }
  const dataset = bytesOf(objectsOf(place));
  expect(dataset).toBeGreaterThan(250_000);
  expect(used).toBe(expectSound([place]).bytes);
  expect(place.quotas[0] ?? 0, 'what is free, as objects remain that have a chunk').toBeLessThan(
    used + CHUNK,
  );
  // Nobody brought what was on the tier, except who placed it.
  expect(brought).toBe(3 * dataset - 2 * used);
  expect(all.flatMap(({ trainer }) => trainer.faults)).toEqual([]);
});

it('[T3] [T4] [R1] [R2] [Q1] three processes at the same time, one of which is killed: the others go on, and the next to start clears up', async () => {
  const place = newPlace(180_000);
  const [a, b] = [new Trainer(place), new Trainer(place)];
  const victim = new Trainer(place, { call: 'publish', nth: 3, when: 'before' });
  await Promise.all([a, b, victim].map(({ started }) => started));
  for (const trainer of [a, b, victim])
    trainer.onSaid = ({ say }) => say === 'placed' && expectSound([place]);
  const dataset = bytesOf(objectsOf(place));
  const epochs = [a, b, victim].map((trainer, seed) => trainer.ask({ ask: 'epoch', seed }));
  const ends = await Promise.allSettled(epochs);
  // It comes to its end if the others were so much faster that there was not that much for it to place.
  if (ends[2]?.status === 'fulfilled') victim.kill();
  expect(await victim.exited).toEqual([null, 'SIGKILL']);
  for (const [i, trainer] of [a, b].entries()) {
    const end = ends[i];
    if (end?.status !== 'fulfilled') throw new Error('a process that goes on', { cause: end?.reason });
    const { brought } = await trainer.ask({ ask: 'epoch', seed: 10 + i });
    // What was on the tier serves both, whoever placed it; the dead one among them.
    expect(brought).toBeLessThanOrEqual(dataset - end.value.usedBytes);
  }
  const next = new Trainer(place);
  await next.started;
  expect(expectSound([place]).temporary.filter((name) => name.split('.')[1] === String(victim.pid))).toEqual(
    [],
  );
  for (const trainer of [next, a, b]) await trainer.ask({ ask: 'epoch', seed: 20 });
  const { bytes, temporary } = expectSound([place]);
  expect(temporary).toEqual([]);
  for (const trainer of [next, a, b]) {
    const { brought, usedBytes, reservedBytes } = await trainer.ask({ ask: 'epoch', seed: 30 });
    expect({ brought, usedBytes, reservedBytes }).toEqual({
      brought: dataset - bytes,
      usedBytes: bytes,
      reservedBytes: 0,
    });
    expect(trainer.faults).toEqual([]);
  }
  expect(place.quotas[0] ?? 0).toBeLessThan(bytes + CHUNK);
  for (const trainer of [next, a, b]) {
    await trainer.ask({ ask: 'close' });
    expect(await trainer.exited).toEqual([0, null]);
  }
  expect(expectSound([place]).bytes).toBe(bytes);
});

it('[T3] [R1] [Q1] two datasets with the same keys on one tier at the same time are not mixed up, and share its quota', async () => {
  const train = newPlace(300_000, 'train');
  const val = newPlace(300_000, 'val', 1000);
  const both = [new Trainer(train), new Trainer(val)];
  await Promise.all(both.map(({ started }) => started));
  for (const trainer of both)
    trainer.onSaid = ({ say }) => {
      if (say === 'placed') expectSound([train, val]);
    };
  for (let epoch = 0; epoch < 2; epoch++)
    await Promise.all(both.map((trainer) => trainer.ask({ ask: 'epoch', seed: epoch })));
  const { bytes } = expectSound([train, val]);
  const datasets = bytesOf(objectsOf(train)) + bytesOf(objectsOf(val));
  const again = await Promise.all(both.map((trainer) => trainer.ask({ ask: 'epoch', seed: 9 })));
  expect(again.reduce((sum, { brought }) => sum + brought, 0)).toBe(datasets - bytes);
  // One starts anew while the other goes on: it finds its own copies, and leaves the others alone.
  await both[0]?.ask({ ask: 'close' });
  const next = new Trainer(train);
  await next.started;
  expect(expectSound([train, val]).bytes).toBe(bytes);
  const last = await Promise.all(
    [next, both[1] ?? next].map((trainer) => trainer.ask({ ask: 'epoch', seed: 10 })),
  );
  expect(last.reduce((sum, { brought }) => sum + brought, 0)).toBe(datasets - bytes);
  expect([...both, next].flatMap(({ faults }) => faults)).toEqual([]);
});

it('[T3] [Q1] of two quotas the smaller holds, from the moment that its process has started', async () => {
  const large = newPlace(300_000);
  const small: Place = { ...large, quotas: [100_000] };
  const first = new Trainer(large);
  await first.started;
  let joined: Trainer | undefined;
  let placed = 0;
  first.onSaid = ({ say }) => {
    placed += say === 'placed' ? 1 : 0;
    if (placed === 5) joined ??= new Trainer(small);
  };
  await first.ask({ ask: 'epoch', seed: 1 });
  await joined?.started;
  for (let epoch = 0; epoch < 2; epoch++) {
    expectSound([small]);
    await Promise.all([first, joined ?? first].map((trainer) => trainer.ask({ ask: 'epoch', seed: epoch })));
  }
  expectSound([small]);
  await joined?.ask({ ask: 'close' });
  await first.ask({ ask: 'epoch', seed: 3 });
  expect(expectSound([large]).bytes, 'the larger one holds again').toBeGreaterThan(250_000);
});

it('[T3] [Q1] a smaller quota holds also over what was on its way when its process started', async () => {
  const large = newPlace(300_000);
  const small: Place = { ...large, quotas: [50_000] };
  const held: HoldingDriver[] = [];
  const { hierarchy } = hierarchyOf(large, (driver) => {
    const holding = new HoldingDriver(driver, { operations: ['publish'] });
    held.push(holding);
    return holding;
  });
  await hierarchy.start();
  const placing = [...objectsOf(large).keys()].slice(0, 12).map((key) => hierarchy.place(key));
  while ((held[0]?.held.length ?? 0) < 6) await settled();
  const joined = hierarchyOf(small).hierarchy;
  await joined.start();
  const whilePlaced = Promise.all(placing);
  for (let ended = false; !ended;) {
    await held[0]?.releaseAll();
    ended = await Promise.race([whilePlaced.then(() => true), settled().then(() => false)]);
  }
  await hierarchy.idle();
  expectSound([small]);
  await Promise.all([hierarchy.close(), joined.close()]);
});

it('[T3] [Q1] a smaller quota holds also if the tier is full of another dataset', async () => {
  const val = newPlace(300_000, 'val');
  const train: Place = { ...newPlace(300_000, 'train', 1000), quotas: [50_000] };
  const [first, second] = [hierarchyOf(val).hierarchy, hierarchyOf(train).hierarchy];
  await first.start();
  await readEpoch(first, objectsOf(val), new Random(1));
  await first.idle();
  await second.start();
  expectSound([train, val]);
  for (const place of [val, train])
    await readEpoch(place === val ? first : second, objectsOf(place), new Random(2));
  expectSound([train, val]);
  await Promise.all([first.close(), second.close()]);
});
