import fs from 'node:fs';
import path from 'node:path';
import { Random, systemClock } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { binding } from '../src/load.js';
import { describeNative, explained, targetOf, temporaryDirectory, threadsOn, until } from './helpers.js';

const SIZE = 400_000;
const FILES = 12;
const CONTENTS = Array.from({ length: FILES }, (_, i) => someBytes(SIZE, i));
/** Written over a target as soon as it is the caller's again. */
const MINE = new Uint8Array(SIZE).fill(0xaa);

function isSame(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && Buffer.compare(a, b) === 0;
}

function withFiles(): string {
  const root = temporaryDirectory();
  for (const [i, content] of CONTENTS.entries()) fs.writeFileSync(path.join(root, `${i}`), content);
  return root;
}

/** Lets other threads run for a while, from nothing to some hundred microseconds. */
async function aWhile(random: Random): Promise<void> {
  const turns = random.below(12);
  for (let i = 0; i < turns; i++) await systemClock.turn();
}

const WAYS = [false, true].flatMap((mayHang) => [1, 2, 3].map((seed) => [mayHang, seed] as const));

describeNative('aborts and closes', () => {
  it.each(WAYS)('at any instant give the targets back (mayHang %s, seed %d)', async (mayHang, seed) => {
    const random = new Random(seed);
    const root = withFiles();
    for (let round = 0; round < 25; round++) {
      const io = threadsOn(root, { mayHang, threads: 1 + random.below(5) });
      const controllers = Array.from({ length: 1 + random.below(4) }, () => new AbortController());
      const batches = controllers.map(async ({ signal }) => {
        const requests = Array.from({ length: 1 + random.below(20) }, () => ({
          key: `${random.below(FILES + 1)}`,
          offset: 0,
          target: targetOf(SIZE, random.below(4) > 0),
        }));
        const onRead = random.below(2) === 0 ? () => undefined : undefined;
        const outcomes = explained((await io.readMany(requests, { signal, onRead })).outcomes);
        for (const [i, { key, target }] of requests.entries()) {
          if (outcomes[i] === SIZE) expect(isSame(target, CONTENTS[Number(key)])).toBe(true);
          else
            expect(outcomes[i]).toBe(
              Number(key) === FILES && outcomes[i] !== 'ABORTED' ? 'ENOENT' : 'ABORTED',
            );
          target.set(MINE);
        }
        return requests.map(({ target }) => target);
      });
      for (const controller of controllers) {
        await aWhile(random);
        if (random.below(4) > 0) controller.abort();
      }
      await io.close();
      const targets = (await Promise.all(batches)).flat();
      await systemClock.turn();
      for (const target of targets) expect(isSame(target, MINE)).toBe(true);
    }
    await until(() => binding().live() === 0);
  });

  it.each(WAYS)('of writes leave a whole file or none (mayHang %s, seed %d)', async (mayHang, seed) => {
    const random = new Random(seed);
    const root = temporaryDirectory();
    const parts = [true, false].map((isShared) => targetOf(2_000_000, isShared));
    for (const part of parts) part.set(someBytes(part.byteLength, 1));
    for (let round = 0; round < 40; round++) {
      const part = parts[round % 2] ?? new Uint8Array();
      const io = threadsOn(root, { mayHang });
      const controller = new AbortController();
      const { signal } = controller;
      const writing = io.writeFile({
        temporary: 'tmp',
        target: `${round}`,
        parts: [part],
        areFixed: true,
        sumEvery: 65_536,
        signal,
      });
      const isWritten = writing.then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject(signal.aborted ? { name: 'AbortError' } : { code: 'TIERED_CLOSED' });
          return false;
        },
      );
      await aWhile(random);
      if (random.below(2) === 0) controller.abort();
      await io.close();
      const name = path.join(root, `${round}`);
      expect(fs.existsSync(name)).toBe(await isWritten);
      if (await isWritten) expect(isSame(fs.readFileSync(name), part)).toBe(true);
      expect(fs.existsSync(path.join(root, 'tmp'))).toBe(false);
    }
    await until(() => binding().live() === 0);
  });

  it('do not begin what nobody has begun', async () => {
    const io = threadsOn(withFiles(), { threads: 1 });
    const controller = new AbortController();
    const requests = Array.from({ length: 1000 }, () => ({ key: '0', offset: 0, target: targetOf(SIZE) }));
    const reading = io.readMany(requests, { signal: controller.signal });
    controller.abort();
    expect(
      explained((await reading).outcomes).filter((outcome) => outcome !== 'ABORTED').length,
    ).toBeLessThan(900);
    expect(explained((await io.readMany(requests, { signal: controller.signal })).outcomes)).toEqual(
      requests.map(() => 'ABORTED'),
    );
  });
});
