import fs from 'node:fs/promises';
import path from 'node:path';
import { loadHierarchy } from '@tiered/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory, withCode } from './helpers.js';

describe('driver: opendal', () => {
  it('is a source in a file, its directories relative to the file', async () => {
    const directory = await temporaryDirectory();
    await fs.mkdir(path.join(directory, 'data'));
    await fs.writeFile(path.join(directory, 'data', 'a'), 'hello');
    const file = path.join(directory, 'tiers.yaml');
    await fs.writeFile(file, 'source: { driver: opendal, service: fs, options: { root: data } }');
    const hierarchy = await loadHierarchy(file);
    onTestFinished(async () => {
      await hierarchy.close();
      await fs.rm(directory, { recursive: true });
    });
    await hierarchy.open();
    expect(Buffer.from(await hierarchy.read('a')).toString()).toBe('hello');
  });

  it.each([{ service: 1 }, { service: 'fs', options: { root: 1 } }, { service: 'fs', option: {} }, {}])(
    'refuses %j',
    async (options) => {
      const config = { source: { driver: 'opendal', ...options } };
      await expect(loadHierarchy(config)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
    },
  );

  it('writes as a tier only', async () => {
    const tier = { driver: 'opendal', service: 'fs', options: { root: 'x' }, quota: '1GiB' };
    const hierarchy = await loadHierarchy({ source: { driver: 'memory' }, tiers: [tier] });
    // A tier of files has to say where it keeps what is being written.
    await expect(hierarchy.open()).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});
