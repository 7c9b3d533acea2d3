import { loadConfig } from '@tiered/config';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryWith, driverPath, refusalOf } from './helpers.js';

const source = { driver: 'memory' };

describe('the section control', () => {
  it('gives numbers of variables, and paths relative to the file', async () => {
    const directory = await directoryWith({
      'config/tiers.yaml': `
        source: { driver: memory }
        control:
          job: \${JOB}
          weight: \${WEIGHT}
          priority: "\${PRIORITY}"
          atLeast: { bytesPerSecond: "\${MB}MB", operationsPerSecond: "\${OPERATIONS}" }
          registry: { sqlite: shared/jobs.db }
          source: { name: "server:/export", budget: { bytesPerSecond: 1GB } }`,
    });
    const env = { JOB: 'resnet.50', WEIGHT: '2.5', PRIORITY: '-3', MB: '20', OPERATIONS: '100' };
    const { control } = await loadConfig(path.join(directory, 'config/tiers.yaml'), { env });
    expect(control).toEqual({
      job: 'resnet.50',
      weight: 2.5,
      priority: -3,
      atLeast: { bytesPerSecond: '20MB', operationsPerSecond: 100 },
      registry: { sqlite: path.join(directory, 'config/shared/jobs.db') },
      source: { name: 'server:/export', budget: { bytesPerSecond: '1GB' } },
    });
    expect((await loadConfig({ source })).control).toBeUndefined();
  });

  it('has numbers that are numbers in spite of a variable', async () => {
    const control = { job: 'a', weight: '${WEIGHT}' };
    for (const WEIGHT of ['', '0', '-1', '1001', 'much', '1e2', 'Infinity'])
      expect((await refusalOf({ source, control }, { env: { WEIGHT } })).message).toContain('control.weight');
  });

  it('shows no secret of NATS in messages', async () => {
    const nats = { servers: ['nats://a:1'], token: '${SECRET}', password: 7 };
    const control = { job: 'a b', registry: { nats } };
    const { message } = await refusalOf({ source, control }, { env: { SECRET: 'hunter2' } });
    expect(message).toContain('control.registry');
    expect(message).not.toMatch(/hunter2|7/);
  });

  it('is beside the storage of the source, whichever part of it the dataset is', async () => {
    const storageOf = async (options: object) =>
      (await loadConfig({ source: { driver: 'fs', root: '/data', ...options } })).storage;
    expect(await storageOf({})).toBe('file:///data/');
    expect(await storageOf({ prefix: 'train/', retry: {} })).toBe('file:///data/');
    expect(await storageOf({ object: 'all.tar' })).toBe('file:///data/');
    expect((await loadConfig({ source: { driver: driverPath('noting'), name: 'n' } })).storage).toBeDefined();
  });
});
