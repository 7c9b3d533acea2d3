import { loadConfig, type HierarchyConfig } from '@tiered/config';
import { parseShare } from '@tiered/config/fields';
import { parseBytes } from '@tiered/core';
import fc from 'fast-check';
import { statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { describe, expect, it } from 'vitest';
import { usableMemory } from '../src/drivers/memory.js';
import { shareOf } from '../src/make/tiers.js';
import { directoryWith, driverPath, fieldsOf, fileWith, problemsOf } from './helpers.js';

const source = { driver: 'memory' };

/** The quotas of a configuration with these tiers, in bytes. */
async function quotasOf(tiers: HierarchyConfig['tiers'], options = {}): Promise<number[]> {
  const { hierarchy } = await loadConfig({ source, tiers }, options);
  return (hierarchy.tiers ?? []).map(({ quota }) => parseBytes(quota));
}

const memory = usableMemory(os.totalmem(), process.constrainedMemory());

describe('a share', () => {
  it('is a percentage, of more than 0 and at most 100, as it was written', () => {
    const space = fc.constantFrom('', ' ', '  ');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99 }), fc.nat(999), space, space, (whole, part, one, other) => {
        const digits = `${whole}.${part}`;
        const percent = Number(digits);
        expect(parseShare(`${one}${digits}${other}%${one}`)).toBe(percent === 0 ? undefined : percent);
        expect(parseShare(digits)).toBeUndefined();
      }),
    );
    for (const all of ['100%', '100.0 %']) expect(parseShare(all)).toBe(100);
    for (const none of ['100.1%', '101%', '1000%', '-1%', '+1%', '1e1%', '.5%', '5.%', '%', '', 50, null])
      expect(parseShare(none)).toBeUndefined();
  });

  it('is never more than all, and a larger one never less than a smaller one', () => {
    const bytes = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    const percent = fc.double({ min: 0, minExcluded: true, max: 100, noNaN: true });
    fc.assert(
      fc.property(bytes, percent, percent, (all, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)].map((share) => shareOf(all, share));
        expect(Number.isSafeInteger(less) && Number.isSafeInteger(more)).toBe(true);
        expect(0 <= (less ?? -1) && (less ?? 0) <= (more ?? 0) && (more ?? 0) <= all).toBe(true);
        expect(shareOf(all, 100)).toBe(all);
      }),
    );
  });
});

describe('memory that a process may use', () => {
  it('is that of the machine, or of a limit that is a limit', () => {
    const total = 2 ** 34;
    // As Node tells that there is no limit: none known, cgroups v1, cgroups v2.
    for (const none of [undefined, 0, 9223372036854771712, 18446744073709552000])
      expect(usableMemory(total, none)).toBe(total);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), (limit) => {
        expect(usableMemory(total, limit)).toBe(Math.min(limit, total));
      }),
    );
  });
});

describe('a quota that is a share', () => {
  it('is of the memory that the process may use', async () => {
    expect(await quotasOf([{ driver: 'memory', quota: '50%' }])).toEqual([Math.floor(memory / 2)]);
  });

  it('[G1] is of all that the file system has, where the directory will be', async () => {
    const directory = await directoryWith({ 'a file': '' });
    const { blocks, bsize } = await statfs(directory);
    const all = blocks * bsize;
    const under = (root: string) => [{ driver: 'fs', root, quota: '12.5 %' }];
    for (const root of ['.', 'not/there/yet', 'a file/below'])
      expect(await quotasOf(under(root), { baseDirectory: directory })).toEqual([Math.floor(all / 8)]);
    expect(await quotasOf(under(path.join(directory, 'x')))).toEqual([Math.floor(all / 8)]);
  });

  it('may come from the environment, and is told beside the bytes', async () => {
    const tiers = [
      { driver: 'memory', quota: '${ALL}' },
      { driver: 'memory', quota: '${PERCENT}%' },
      { driver: 'memory', quota: '1GiB' },
    ];
    const env = { ALL: '25%', PERCENT: '10' };
    const { hierarchy, shares } = await loadConfig({ source, tiers }, { env });
    expect(shares).toEqual([25, 10, undefined]);
    expect(hierarchy.tiers?.map(({ quota }) => quota)).toEqual([
      Math.floor(memory / 4),
      Math.floor(memory / 10),
      '1GiB',
    ]);
  });

  it('[G1] stands beside others of the same storage as long as they are at most all of it', async () => {
    const fs = (root: string, quota: string) => ({ driver: 'fs', root, quota });
    const ram = { driver: 'memory', quota: '60%' };
    const directory = await directoryWith({});
    const options = { baseDirectory: directory };
    await quotasOf([ram, fs('a', '60%'), fs('b/c', '40%')], options);
    await quotasOf([fs('a', '33.3%'), fs('b', '33.3%'), fs('c', '33.4%')], options);
    await quotasOf([fs('a', '60%'), fs('b', '1PB')], options);
    const tiers = [ram, fs('a', '60%'), { ...fs('b', '41%'), prefix: 'p/' }, ram];
    const problems = await problemsOf({ source, tiers }, options);
    expect(problems.map(({ field }) => field)).toEqual(['tiers[2].quota', 'tiers[3].quota']);
    expect(problems.map(({ text }) => /\d+ %/.exec(text)?.[0])).toEqual(['101 %', '120 %']);
  });

  it('is refused at its line where the storage knows no size, with what else is wrong', async () => {
    const tiers = [{ driver: 's3', quota: '50%' }];
    const file = await fileWith(stringify({ source, tiers }));
    expect(await problemsOf(file)).toEqual(
      [
        { at: '4:5', field: 'tiers[0].bucket', text: expect.any(String) },
        { at: '5:5', field: 'tiers[0].quota', text: expect.stringContaining('storage that knows its size') },
      ].sort((a, b) => (a.field < b.field ? -1 : 1)),
    );
    expect(await fieldsOf({ source, tiers: [{ driver: driverPath('noting'), quota: '1%' }] })).toEqual([
      'tiers[0].quota',
    ]);
  });

  it.each([
    ['throws', 'throw Object.assign(new Error("secret/place"), { code: "EACCES" })', '(EACCES)'],
    ['knows nothing', 'return NaN', 'the driver says NaN bytes'],
    ['says less than nothing', 'return -1', 'the driver says -1 bytes'],
  ])('is refused where the driver %s', async (_, body, told) => {
    const driver = await fileWith(
      `export const driverFactory = {
        schema: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
        create: () => ({ name: 'x', capabilities: { list: true, write: true, delete: true } }),
        async capacityBytes() { ${body}; },
      };`,
      'driver.mjs',
    );
    const [problem, ...others] = await problemsOf({ source, tiers: [{ driver, quota: '50%' }] });
    expect(others).toEqual([]);
    expect(problem?.field).toBe('tiers[0].quota');
    expect(problem?.text).toContain(told);
    expect(problem?.text).not.toContain('secret');
  });
});
