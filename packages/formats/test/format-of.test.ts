import { FORMAT_NAMES, formatOf } from '@tiered/formats';
import { describe, expect, it } from 'vitest';

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

  it.each(['parquet2', 'constructor', ''])('refuses %j', async (name) => {
    const error = { code: 'TIERED_CONFIG_INVALID', message: expect.stringContaining('json-lines') };
    await expect(formatOf(name)).rejects.toMatchObject(error);
  });
});
