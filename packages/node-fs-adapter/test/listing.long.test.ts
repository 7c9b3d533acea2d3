import { createHook } from 'node:async_hooks';
import fs from 'node:fs';
import path from 'node:path';
import { Random, type ObjectStat } from '@tiered/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '@tiered/core/testing';
import { descriptorsBelow, keysOf, onLinux, place, turn, type Place } from './helpers.js';

/**
 * Counts operations of the file system from when they begin until their answer is there, as Node itself sees
 * them.
 */
function watchFileSystem() {
  const underWay = new Set<number>();
  const counts = { begun: 0, most: 0, underWay: () => underWay.size };
  const hook = createHook({
    init(id, type) {
      if (!type.startsWith('FSREQ')) return;
      underWay.add(id);
      counts.begun += 1;
      counts.most = Math.max(counts.most, underWay.size);
    },
    before: (id) => void underWay.delete(id),
  });
  hook.enable();
  onTestFinished(() => void hook.disable());
  return counts;
}

/**
 * Files below a directory, also by links that stay inside and lead in no circles, found one after the other
 * and without this package.
 * @param way The real directories on the way.
 */
function filesBelow(root: string, prefix = '', way: readonly string[] = [root], links = 0): string[] {
  return fs.readdirSync(path.join(root, prefix), { withFileTypes: true }).flatMap((entry) => {
    const key = prefix + entry.name;
    const target = fs.existsSync(path.join(root, key)) ? fs.realpathSync(path.join(root, key)) : '';
    if (target !== root && !target.startsWith(`${root}/`)) return [];
    if (fs.statSync(target).isFile()) return [key];
    const more = links + Number(entry.isSymbolicLink());
    return way.includes(target) || more > 8 ? [] : filesBelow(root, `${key}/`, [...way, target], more);
  });
}

/** Fills a root with files, directories in directories and links of all kinds, the same for the same seed. */
function grow({ root, outside }: Place, seed: number, size: number): void {
  const original = path.join(outside, 'a');
  const random = new Random(seed);
  const directories = [''];
  const files: string[] = [];
  const some = (list: readonly string[]) => list[random.below(list.length)] ?? '';
  const targets = [() => path.join(root, some(files)), () => path.join(root, some(directories))];
  targets.push(
    () => path.join(outside, 'secret'),
    () => outside,
    () => path.join(root, 'nothing'),
  );
  for (let i = 0; i < size; i++) {
    const key = `${some(directories)}${i}`;
    const at = path.join(root, key);
    const what = random.below(10);
    if (what < 3) {
      fs.mkdirSync(at);
      directories.push(`${key}/`);
    } else if (what < 9) {
      fs.linkSync(original, at);
      files.push(key);
    } else fs.symlinkSync(targets[random.below(targets.length)]?.() ?? '', at);
  }
}

/** Makes so many files in so many directories. Hard links, because they are made ten times as fast. */
function fill({ root, outside }: Place, directories: number, files: number): void {
  for (let d = 0; d < directories; d++) {
    fs.mkdirSync(path.join(root, `d${d}`));
    for (let f = 0; f < files; f++) fs.linkSync(path.join(outside, 'a'), path.join(root, `d${d}/f${f}`));
  }
}

async function pagesOf({ driver }: Place, prefix?: string): Promise<(readonly ObjectStat[])[]> {
  const pages: (readonly ObjectStat[])[] = [];
  for await (const page of driver.list({ prefix })) pages.push(page);
  return pages;
}

describe.each([1, 3, 32])('a listing of at most %d operations at a time', (listConcurrency) => {
  it('gives each file of any tree once, as stat() describes it', async () => {
    for (const [seed, size] of [
      [1, 0],
      [2, 1],
      [3, 40],
      [4, 300],
      [5, 1000],
    ] as const) {
      const there = await place({ listConcurrency });
      grow(there, seed, size);
      const objects = (await pagesOf(there)).flat();
      expect(objects.map(({ key }) => key).sort()).toEqual(filesBelow(there.root).sort());
      for (const object of objects.slice(0, 100))
        expect(object).toEqual(await there.driver.stat(object.key, {}));
    }
  });

  it('keeps to any prefix', async () => {
    const there = await place({ listConcurrency });
    grow(there, 6, 300);
    const all = filesBelow(there.root).sort();
    const longest = all.reduce((one, other) => (other.length > one.length ? other : one), '');
    for (let length = 0; length <= longest.length; length++) {
      const prefix = longest.slice(0, length);
      const expected = all.filter((key) => key.startsWith(prefix));
      expect(await keysOf(there.driver, prefix), prefix).toEqual(expected);
    }
  });

  it('has never more than that under way, and as many as that if there is so much to do', async () => {
    const there = await place({ listConcurrency });
    fill(there, 40, 50);
    const watched = watchFileSystem();
    expect((await pagesOf(there)).flat()).toHaveLength(2000);
    expect(watched.begun).toBeGreaterThan(2000);
    expect(watched.most).toBe(listConcurrency);
  });

  it('gives full pages but for the last', async () => {
    const there = await place({ listConcurrency });
    fill(there, 7, 500);
    expect((await pagesOf(there)).map((page) => page.length)).toEqual([1000, 1000, 1000, 500]);
  });

  it('goes on over files and directories that vanish', async () => {
    const there = await place({ listConcurrency });
    fill(there, 60, 100);
    const keys: string[] = [];
    const gone = (key: string) => /^d\d*[02468]\//.test(key);
    for await (const page of there.driver.list({})) {
      if (keys.length === 0)
        for (let d = 0; d < 60; d += 2) fs.rmSync(path.join(there.root, `d${d}`), { recursive: true });
      keys.push(...page.map(({ key }) => key));
    }
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.filter((key) => !gone(key)).sort()).toEqual(filesBelow(there.root).sort());
  });

  it('holds no more than some pages of a large directory that nobody takes', async () => {
    const there = await place({ listConcurrency });
    fill(there, 1, 5000);
    const watched = watchFileSystem();
    const pages = there.driver.list({});
    await pages.next();
    while (watched.underWay() > 0) await turn();
    expect(watched.begun, 'operations before the second page is asked for').toBeLessThan(4000);
    expect((await pages.next()).value).toHaveLength(1000);
    await pages.return();
  });

  it.skipIf(onLinux.skip)(
    'that is left or aborted begins nothing more, and close waits for the rest',
    async () => {
      // Its time does not pass, so that nothing but the end of the calls ends the wait of `close`.
      const there = await place({ listConcurrency, clock: new ManualClock() });
      fill(there, 50, 100);
      const reason = new Error('no longer wanted');
      for (const how of ['left', 'aborted between pages', 'aborted under way']) {
        const watched = watchFileSystem();
        const controller = new AbortController();
        const pages = there.driver.list({ signal: controller.signal });
        if (how !== 'aborted under way') await pages.next();
        if (how === 'left') await pages.return();
        else {
          const next = how === 'aborted under way' ? pages.next() : undefined;
          if (next !== undefined) while (watched.begun < 20) await turn();
          controller.abort(reason);
          const { begun } = watched;
          await expect(next ?? pages.next(), how).rejects.toBe(reason);
          const closing = listConcurrency;
          expect(watched.begun - begun, how).toBeLessThanOrEqual(closing);
        }
        if (how !== 'left') await there.driver.close();
        expect(watched.underWay(), how).toBe(0);
        expect(await descriptorsBelow(there.root), how).toBe(0);
        await there.driver.open({});
      }
    },
  );
});
