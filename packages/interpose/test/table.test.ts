import { copyName } from '@tiered/core/internal';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { AT_SOURCE, type Place } from '../src/table/layout.js';
import { TableWriter } from '../src/table/writer.js';
import { describeShim, program, temporaryDirectory } from './helpers.js';

const ROOT = '/data/set';
const TIERS = ['/nvme/cache', '/dev/shm/a b'];

/**
 * What a program sees of a table that this process wrote: a line for the table, and one for each key. On a
 * busy machine, a program may start when the last sign of life is too old: it is told another time.
 */
async function seenBy(table: TableWriter, file: string, keys: readonly string[]): Promise<string[]> {
  const probe = await program('probe');
  const input = keys.map((key) => `${key}\0`).join('');
  let lines;
  do {
    table.beat();
    const output = execFileSync(probe, [file], { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
    lines = output.trimEnd().split('\n');
  } while (lines[0] === 'dead');
  return lines;
}

const key = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    fc
      .array(fc.constantFrom('a', 'B', '.', '..', '.tiered', 'é', '~', '/', '@', 'x'.repeat(190)), {
        minLength: 1,
      })
      .map((all) => all.join('')),
  )
  .filter((text) => !text.includes('\0') && text.isWellFormed());
const place: fc.Arbitrary<Place | undefined> = fc.option(
  fc.record({ level: fc.nat(TIERS.length - 1), tag: fc.maxSafeNat().map((n) => n % 2 ** 40) }),
  { nil: undefined },
);
const file = fc.record({
  inode: fc.bigInt(0n, 2n ** 64n - 1n),
  modified: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  device: fc.record({ major: fc.bigInt(0n, 0xfffn), minor: fc.bigInt(0n, 0xfffffn) }),
  mode: fc.integer({ min: 1, max: 0o177777 }),
  user: fc.nat(2 ** 32 - 1),
  group: fc.nat(2 ** 32 - 1),
});
const UNKNOWN = { inode: 0n, modified: 0n, device: { major: 0n, minor: 0n }, mode: 0, user: 0, group: 0 };

/** As the C library makes it. */
const deviceOf = ({ major, minor }: { major: bigint; minor: bigint }) =>
  ((major & 0xfffn) << 8n) | ((major & ~0xfffn) << 32n) | (minor & 0xffn) | ((minor & ~0xffn) << 12n);

describeShim('the table', () => {
  it('[I5] has its memory from the start, so that no look-up needs more', async () => {
    const file = path.join(temporaryDirectory(), 'table');
    const table = await TableWriter.create({ path: file, roots: [ROOT], tiers: TIERS, entries: 50_000 });
    table.publish();
    const { blocks, size } = fs.statSync(file);
    expect([size > 50_000 * 64, blocks * 512 >= size]).toEqual([true, true]);
    table.close();
  });

  it('says to programs what was written into it', async () => {
    const directory = temporaryDirectory();
    const entries = fc.uniqueArray(fc.record({ key, place, bytes: fc.maxSafeNat(), file: fc.option(file) }), {
      selector: (one) => one.key,
      maxLength: 200,
    });
    await fc.assert(
      fc.asyncProperty(entries, fc.array(key, { maxLength: 20 }), fc.nat(200), async (all, others, first) => {
        const where = path.join(directory, 'table');
        const table = await TableWriter.create({
          path: where,
          roots: [ROOT],
          tiers: TIERS,
          entries: all.length,
        });
        for (const [i, one] of all.entries()) {
          // What comes later goes into a table that programs look into already.
          if (i === first) table.publish();
          const file = one.file && { ...one.file, bytes: one.bytes, device: deviceOf(one.file.device) };
          const entry = table.add(one.key, one.bytes, (i % 2 === 0 && file) || undefined);
          if (i % 2 === 1 && file !== null) table.setFile(entry, file);
          if (one.place !== undefined) table.setPlace(entry, one.place);
        }
        if (first >= all.length) table.publish();
        const known = new Set(all.map((one) => one.key));
        const unknown = others.filter((one) => !known.has(one));
        const [live, ...lines] = await seenBy(table, where, [...known, ...unknown]);
        table.close();
        expect(live).toBe('live');
        for (const [i, one] of all.entries()) {
          const { level, tag } = one.place ?? { level: AT_SOURCE, tag: 0 };
          const { inode, modified, device, mode, user, group } = one.file ?? UNKNOWN;
          const packed = (device.major << 20n) | device.minor;
          const said = `${level} ${tag} ${one.bytes} ${inode} ${modified} ${mode.toString(8)} ${packed} ${user} ${group} `;
          const line = lines[i] ?? '';
          expect(line.slice(0, said.length)).toBe(said);
          const path = one.place === undefined ? '-' : `${TIERS[level]}/${copyName(one.key, tag)}`;
          // Names that programs do not make are those that are marked with a percent sign of their own.
          expect([`${path} back`, ...(path === '-' || isMarked(one.key) ? ['- -'] : [])]).toContain(
            line.slice(said.length),
          );
        }
        expect(lines.slice(all.length)).toEqual(unknown.map(() => 'none'));
      }),
    );
    fs.rmSync(directory, { recursive: true });
  });
});

/** Whether `copyName` marks the name of a key, so that it is not only spelled. */
function isMarked(key: string): boolean {
  const name = copyName(key, 0);
  return /(^|\/)%(\.{0,2}|\.tiered|long)(\/|@|$)/.test(name);
}
