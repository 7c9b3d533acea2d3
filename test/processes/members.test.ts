import { FileSystemDriver } from '@tiered/node-fs-adapter';
import Database from 'libsql';
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { Answer, Child, ChildOptions } from './child.js';
import { makeDataset } from './dataset.js';
import { deletedFiles } from './disk.js';
import { openIndexOf } from './index-of.js';
import { indexOf, membersOf, sourceOf, tierOf, type Place } from './place.js';
import { expectSoundIndex } from './sound.js';
import { tierProcesses } from './tier-processes.js';

const processes = tierProcesses();
let place: Place;
let keys: string[];

beforeEach(() => {
  place = { directory: processes.directory, quota: 4_000_000, policy: 'firstFit' };
  keys = makeDataset(place, 20, 60_000);
});

const begin = (where = place, options?: ChildOptions) => processes.begin(where, options);

/**
 * Has everything placed that there is room for: room is leased in pieces, so not all is placed when it is
 * first read.
 */
async function fill(child: Child): Promise<void> {
  for (let epoch = 0; epoch < 5; epoch++) {
    expect((await child.ask({ ask: 'read', keys })).wrong).toEqual([]);
    await child.ask({ ask: 'idle' });
  }
}

/** The source is not asked again for what is on the tier. */
async function expectServed(child: Child, some = keys): Promise<void> {
  const { brought } = await child.ask({ ask: 'idle' });
  const after = await child.ask({ ask: 'read', keys: some });
  expect({ wrong: after.wrong, brought: after.brought - brought }).toEqual({ wrong: [], brought: 0 });
}

const members = (): string[] => fs.readdirSync(membersOf(place)).sort();
const inIndex = (): string[] =>
  openIndexOf(place, (all) => all('SELECT id FROM members').map(({ id }) => String(id))).sort();

it.each([
  ['one outside, one in a container', [false, true]],
  ['both in containers of their own', [true, true]],
])(
  '[T3] %s: they see each other run, and who is killed is seen to be dead by the next start',
  async (_, [first, second]) => {
    const filler = await begin(place, { inContainer: first });
    await fill(filler);
    const reader = await begin(place, { inContainer: second });
    await expectServed(reader);
    expect(inIndex()).toEqual(members());
    expect(members()).toHaveLength(2);
    const claimed = `INSERT INTO copies VALUES ('half', 1, 77, 'v', 9, 9, 4096, 0, NULL, 0, ?, NULL)`;
    const killed = inIndex().find((id) => fs.existsSync(path.join(membersOf(place), id))) ?? '';
    openIndexOf(place, (all) => all(claimed, killed));
    for (const child of [filler, reader]) await child.kill();
    fs.writeFileSync(path.join(tierOf(place), '.tiered', 'tmp', `${killed}.1`), 'half');
    const next = await begin();
    await expectServed(next);
    expect(inIndex()).toEqual(members());
    expect(members()).toHaveLength(1);
    await next.kill();
    fs.rmSync(membersOf(place), { recursive: true });
    expectSoundIndex(place);
  },
);

it('[T3] paths that are too long for a socket are none for a tier', async () => {
  const tier = path.join(processes.directory, 'x'.repeat(100), 'y'.repeat(100), 'tier');
  place = { ...place, tier };
  const first = await begin();
  await fill(first);
  const second = await begin(place, { inContainer: true });
  expect(inIndex()).toEqual(members());
  expect(members()).toHaveLength(2);
  await second.kill();
  await expectServed(await begin());
  expect(members()).toHaveLength(2);
});

it('[T3] [R1] a process whose socket and whose row are gone joins again, and serves nothing wrong', async () => {
  const lost = await begin();
  await fill(lost);
  const [before = ''] = members();
  fs.rmSync(path.join(membersOf(place), before));
  const other = await begin();
  expect(inIndex(), 'those of whom the other knows').toHaveLength(1);
  while (inIndex().length < 2) await lost.ask({ ask: 'read', keys });
  expect(inIndex()).toEqual(members());
  expect(members()).not.toContain(before);
  await expectServed(lost);
  await expectServed(other);
});

it('[T3] [Q1] what a process evicts, others let go of, and only then its bytes are given back', async () => {
  place = { ...place, policy: 'lru', quota: 1_000_000 };
  const [evictor, holder] = [await begin(), await begin()];
  await fill(holder);
  expect((await holder.ask({ ask: 'read', keys })).wrong).toEqual([]);
  const more = makeDataset({ ...place, directory: path.join(processes.directory, 'more') }, 40, 60_000);
  fs.cpSync(path.join(processes.directory, 'more', 'source'), path.join(sourceOf(place), 'more'), {
    recursive: true,
  });
  const held = () => deletedFiles(holder.pid, tierOf(place));
  const left = () =>
    openIndexOf(place, (all) => Number(all('SELECT count(*) AS n FROM copies WHERE state > 1')[0]?.['n']));
  holder.signal('SIGSTOP');
  for (const key of more) {
    const { wrong } = await evictor.ask({ ask: 'read', keys: [`more/${key}`] });
    expect(wrong).toEqual([]);
  }
  expect(held().length, 'open while their process is stopped').toBeLessThanOrEqual(left());
  holder.signal('SIGCONT');
  while (held().length > 0 || left() > 0) await holder.ask({ ask: 'idle' });
  await evictor.ask({ ask: 'idle' });
});

it('[T3] [R1] [Q1] the bytes of what was evicted come back also if who had it open is killed, and nobody starts after that', async () => {
  place = { ...place, policy: 'lru', quota: 1_000_000 };
  const [evictor, killed] = [await begin(), await begin()];
  await fill(killed);
  await killed.kill();
  await fill(evictor);
  while (inIndex().length > 1) await evictor.ask({ ask: 'read', keys });
  const left = () => openIndexOf(place, (all) => all('SELECT key FROM copies WHERE state = 3').length);
  while (left() > 0) await evictor.ask({ ask: 'read', keys });
  expect(members()).toEqual(inIndex());
});

it("[T3] a process without free descriptors takes nobody for dead, and deletes nobody's files", async () => {
  const first = await begin();
  await fill(first);
  const [id = ''] = members();
  const mine = path.join(tierOf(place), '.tiered', 'tmp', `${id}.999`);
  fs.writeFileSync(mine, 'on its way');
  const limited = (most: number) => ['sh', '-c', `ulimit -n ${most}; exec "$@" 2>/dev/null`, 'sh'];
  for (const descriptors of [26, 32, 38, 44, 50]) {
    const poor = processes.start(place, { through: limited(descriptors) });
    // It may come to nothing, or to a tier that is passed over.
    await Promise.race([poor.started.catch(() => undefined), poor.exited]);
    await poor.kill();
    expect(members()).toContain(id);
    expect(inIndex()).toContain(id);
    expect(fs.existsSync(mine)).toBe(true);
  }
  await expectServed(first);
});

/** Whether somebody holds the lock of those who write. */
function isBeingWritten(): boolean {
  const db = new Database(indexOf(place), { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE');
    db.exec('ROLLBACK');
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'SQLITE_BUSY' });
    return true;
  } finally {
    db.close();
  }
}

it('[T3] [R1] one that is stopped in the middle of a transaction keeps nobody from reading: placing waits, and all goes on with it', async () => {
  // What is on its way to the disk is a good moment to be stopped at.
  const stopped = await begin({ ...place, fsync: true });
  const reader = await begin();
  const [placed, others] = [keys.slice(0, 8), keys.slice(8)];
  await reader.ask({ ask: 'read', keys: placed });
  await reader.ask({ ask: 'idle' });
  const goesOn: Promise<Answer>[] = [];
  while (!isBeingWritten()) {
    const key = `tried-${goesOn.length}`;
    fs.writeFileSync(path.join(sourceOf(place), key), key);
    stopped.signal('SIGCONT');
    goesOn.push(stopped.ask({ ask: 'stopWriting', key }));
    await stopped.stops();
  }
  await expectServed(reader, placed);
  const inService = () => openIndexOf(place, (all) => all('SELECT key FROM copies WHERE state = 1').length);
  const before = inService();
  expect((await reader.ask({ ask: 'read', keys })).wrong).toEqual([]);
  const late = await begin();
  expect((await late.ask({ ask: 'read', keys })).wrong).toEqual([]);
  expect(inService(), 'placed meanwhile').toBe(before);
  expect(isBeingWritten()).toBe(true);
  stopped.signal('SIGCONT');
  await Promise.all(goesOn);
  await fill(reader);
  while ((await late.ask({ ask: 'idle' })).usedBytes === 0) await late.ask({ ask: 'read', keys: others });
  for (const child of [reader, late, stopped]) await expectServed(child);
  expect(inIndex()).toEqual(members());
  expect([...stopped.faults, ...reader.faults]).toEqual([]);
});

it('[T3] [R1] one that is stopped while it does nothing is not taken for dead, and goes on where it was', async () => {
  const stopped = await begin();
  await fill(stopped);
  stopped.signal('SIGSTOP');
  const other = await begin(place, { inContainer: true });
  await expectServed(other);
  expect(inIndex()).toHaveLength(2);
  stopped.signal('SIGCONT');
  await expectServed(stopped);
  expect(stopped.faults).toEqual([]);
});

it('[T3] [R2] processes that start on a damaged index at the same time do not wait for each other: one of them begins it anew', async () => {
  const first = await begin();
  await fill(first);
  await first.ask({ ask: 'close' });
  fs.writeFileSync(indexOf(place), 'damaged'.repeat(10_000));
  // Somebody who may be using the index: with it nobody begins anew.
  const user = new FileSystemDriver({ root: tierOf(place), writable: true });
  await user.open({});
  const starting = await Promise.all([begin(), begin(), begin()]);
  for (const child of starting) {
    expect((await child.ask({ ask: 'read', keys })).wrong).toEqual([]);
    expect(child.faults.map(({ operation }) => operation)).toContain('openIndex');
  }
  expect(fs.readFileSync(indexOf(place), 'utf8')).toContain('damaged');
  await user.close();
  for (const child of starting)
    while ((await child.ask({ ask: 'idle' })).usedBytes === 0) await child.ask({ ask: 'read', keys });
  for (const child of starting) await fill(child);
  expect(inIndex()).toEqual(members());
  expect(inIndex()).toHaveLength(3);
  for (const child of starting) await expectServed(child);
  await Promise.all(starting.map((child) => child.ask({ ask: 'close' })));
  expectSoundIndex(place);
});
