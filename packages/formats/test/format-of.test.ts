import { FORMAT_NAMES, formatOf } from '@tiered/formats';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const README = fs.readFileSync(path.join(import.meta.dirname, '../README.md'), 'utf8');

/** What formats cannot do without. */
const NEEDED: Readonly<Record<string, object>> = {
  'image-folder': { classes: ['a'] },
  'raw-records': { recordBytes: 1 },
};

describe('formatOf', () => {
  it.each(FORMAT_NAMES)('makes %s, which says what makes it again', async (name) => {
    const format = await formatOf(name, { ...NEEDED[name] });
    expect(format.name).toBe(name);
    const options = JSON.parse(JSON.stringify(format.options)) as typeof format.options;
    expect((await formatOf(name, options)).options).toEqual(format.options);
  });

  it('makes none that the table of the README leaves out', () => {
    const made = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const isThere = (name: string) =>
      new RegExp(`^\\| .*/.* \\| \`${made(name)}\\(\\)\` \\|`, 'm').test(README);
    expect(FORMAT_NAMES.filter((name) => !isThere(name))).toEqual([]);
  });

  it.each(['parquet2', 'constructor', ''])('refuses %j', async (name) => {
    const error = { code: 'TIERED_CONFIG_INVALID', message: expect.stringContaining('json-lines') };
    await expect(formatOf(name)).rejects.toMatchObject(error);
  });
});
