import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { ManualClock } from '@tiered/core/testing';
import { native } from '@tiered/native';
import { describe, expect, it } from 'vitest';
import {
  WAYS,
  descriptorsBelow,
  onLinux,
  place,
  put,
  putFile,
  settledTo,
  keptTextOf,
  textOf,
  turn,
  withCode,
  type Place,
} from './helpers.js';

/** A place for reading, with objects `0` to `n - 1` that hold their own names. */
async function withObjects(count: number, options: Parameters<typeof place>[0]): Promise<Place> {
  const there = await place(options);
  for (let i = 0; i < count; i++) await putFile(there.root, `${i}`, Buffer.from(`${i}`));
  return there;
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);

describe.each(WAYS)('descriptors: $way', (options) => {
  it('never more than maxOpenFiles stay open, also as the kernel counts them', async () => {
    for (const max of [1, 3, 10]) {
      const { root, driver } = await withObjects(20, { maxOpenFiles: max, ...options });
      expect(await Promise.all(names(20).map((key) => textOf(driver, key)))).toEqual(names(20));
      for (const key of names(20)) expect(await keptTextOf(driver, key)).toBe(key);
      await settledTo(driver, max);
      expect(driver.openFiles).toBe(max);
      if (!onLinux.skip) expect(await descriptorsBelow(root)).toBe(max);
    }
  });

  it('many reads of one file at the same time leave a single descriptor', async () => {
    const { driver } = await withObjects(1, { maxOpenFiles: 10, ...options });
    await Promise.all(Array.from({ length: 50 }, () => textOf(driver, '0')));
    await settledTo(driver, 1);
    expect(driver.openFiles).toBe(1);
  });

  it('all are closed once close() has resolved, and reads after open() work', async () => {
    const { root, driver } = await withObjects(20, { maxOpenFiles: 10, ...options });
    await Promise.all(names(20).map((key) => textOf(driver, key)));
    await driver.close();
    expect(driver.openFiles).toBe(0);
    if (!onLinux.skip) expect(await descriptorsBelow(root)).toBe(0);
    await driver.open({});
    expect(await textOf(driver, '7')).toBe('7');
  });

  it.skipIf(onLinux.skip)('none leaks when operations fail or are aborted', async () => {
    const { directory, root, driver } = await place({ writable: true, maxOpenFiles: 1, ...options });
    await put(driver, 'object');
    fs.mkdirSync(path.join(root, 'dir'));
    for (const [link, target] of [
      ['out', '../outside/secret'],
      ['dir-out', '../outside'],
      ['circle', 'circle'],
      ['dangling', 'nothing'],
    ] as const)
      fs.symlinkSync(target, path.join(root, link));
    const before = await descriptorsBelow(directory);
    for (let round = 0; round < 20; round++) {
      for (const key of [
        'missing',
        'dir',
        'out',
        'dir-out/secret',
        'circle',
        'dangling',
        '../x',
        'x'.repeat(300),
      ]) {
        await Promise.allSettled([textOf(driver, key), textOf(driver, key), driver.stat(key, {})]);
      }
      const controller = new AbortController();
      const aborted = driver.read('object', { offset: 0, length: 6, signal: controller.signal });
      controller.abort(new Error('no longer wanted'));
      // A system call that is under way cannot be stopped: it may end either way.
      await aborted.catch(() => undefined);
      const failing = async function* () {
        yield new Uint8Array(10);
        throw new Error('no more');
      };
      await expect(driver.write('new', failing(), { size: 20 })).rejects.toThrow('no more');
      await expect(driver.write('new', new Uint8Array(5), { size: 20 })).rejects.toEqual(
        withCode('TIERED_SIZE_MISMATCH'),
      );
      await expect(put(driver, 'dir-out/new')).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    }
    await driver.delete('object', {});
    await settledTo(driver, 0);
    expect(await descriptorsBelow(directory)).toBe(before);
  });
});

type Step = { readonly op: 'read' | 'stat' | 'replace' | 'write' | 'delete' | 'turn'; readonly file: number };

const step: fc.Arbitrary<Step> = fc.record({
  op: fc.oneof(
    { weight: 8, arbitrary: fc.constant('read' as const) },
    { weight: 4, arbitrary: fc.constantFrom('stat', 'replace', 'write', 'delete', 'turn' as const) },
  ),
  file: fc.nat(4),
});

it.each(WAYS)('no read gets bytes of another file, or of two states of its own: $way', async (options) => {
  const { root, driver } = await place({ writable: true, maxOpenFiles: 1, ...options });
  const size = 3000;
  let writes = 0;
  // All bytes of a state are the same; which file they belong to is their remainder.
  const nextState = (file: number) => new Uint8Array(size).fill(file + 5 * (writes++ % 50));
  const run = async ({ op, file }: Step): Promise<void> => {
    const key = `${file}`;
    if (op === 'turn') return turn();
    if (op === 'stat') await driver.stat(key, {}).catch(missing);
    if (op === 'delete') return driver.delete(key, {});
    if (op === 'write') return driver.write(key, nextState(file), { size });
    if (op === 'replace') {
      const at = path.join(root, '.tiered', `${writes}`);
      fs.writeFileSync(at, nextState(file));
      fs.renameSync(at, path.join(root, key));
    }
    if (op !== 'read') return;
    const bytes = await driver.read(key, { offset: 0, length: size }).catch(missing);
    if (bytes === undefined) return;
    expect(new Set(bytes).size, `states in one read of ${key}`).toBe(1);
    expect((bytes[0] ?? 0) % 5, `whose bytes the read of ${key} got`).toBe(file);
    expect(bytes.byteLength).toBe(size);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 10 }), async (tasks) => {
      const inTurn = async (steps: readonly Step[]) => {
        for (const one of steps) await run(one);
      };
      await Promise.all(tasks.map(inTurn));
      await settledTo(driver, 1);
    }),
    { numRuns: 200 },
  );
});

/** Lets a missing file pass, and nothing else. */
function missing(error: unknown): undefined {
  expect(error).toEqual(withCode('TIERED_NOT_FOUND'));
}

describe.skipIf(!native().available)('descriptors of a fast tier', () => {
  it('are kept of files that are read again soon, and not of those that are read once', async () => {
    // No read takes any time on this clock, so none is left to a thread.
    const clock = new ManualClock();
    const { root, driver } = await withObjects(20, { maxOpenFiles: 3, blockingCalls: true, clock });
    // Reads block only once the storage has answered.
    await driver.stat('0', {});
    for (let epoch = 0; epoch < 2; epoch++)
      for (const key of names(20)) expect(await textOf(driver, key)).toBe(key);
    expect(driver.openFiles, 'of files that each come after 19 others').toBe(0);
    expect(await descriptorsBelow(root)).toBe(0);
    for (const key of ['4', '5', '4', '5']) expect(await textOf(driver, key)).toBe(key);
    expect(driver.openFiles).toBe(2);
    for (const key of ['6', '7', '8']) expect(await textOf(driver, key)).toBe(key);
    await settledTo(driver, 0);
    expect(driver.openFiles, 'of files that three others were read after').toBe(0);
  });
});
