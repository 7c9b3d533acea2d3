import { parquet } from '@tiered/formats/parquet';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyDamage } from './any-damage.js';
import { readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'parquet');
const fileOf = (name: string) => fs.readFileSync(path.join(folder, `${name}.parquet`));
const names = fs
  .readdirSync(folder)
  .filter((name) => name.endsWith('.parquet') && !name.startsWith('empty'))
  .map((name) => path.basename(name, '.parquet'));

/** What JSON has no values for, as the Python module writes it. */
function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { $bytes, $date, $int64 } = value as Readonly<Record<string, string | undefined>>;
  if ($bytes !== undefined) return Uint8Array.from(Buffer.from($bytes, 'base64'));
  if ($date !== undefined) return new Date($date);
  return $int64 === undefined ? value : BigInt($int64);
}
const known = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8'), revive) as object[];

describe('parquet', () => {
  it.each(names)('reads %s of pyarrow', async (name) => {
    expect(await samplesOf(parquet(), fileOf(name))).toEqual(known);
  });
  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), anyDamage, async (name, damaged) => {
        await readObject(parquet({ maxBytes: '16MiB' }), damaged(fileOf(name)));
      }),
      { numRuns: 300 },
    ));
});
