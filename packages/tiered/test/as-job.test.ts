import { loadConfig } from '@tiered/config';
import { expect, it } from 'vitest';
import { asJob } from '../src/control/control-stage.js';

const source = { driver: 'memory' };

it('has a command say another job or weight than its configuration, and leaves the rest', async () => {
  const config = await loadConfig({ source, control: { job: 'a', weight: 3, priority: 1 } });
  expect(asJob(config, {})).toBe(config);
  expect(asJob(config, { job: 'b' }).control).toMatchObject({ job: 'b', weight: 3, priority: 1 });
  expect(asJob(config, { weight: 2 }).control).toMatchObject({ job: 'a', weight: 2, priority: 1 });
});

it('makes a job of a configuration without one, and no weight without a job', async () => {
  const config = await loadConfig({ source });
  expect(asJob(config, { job: 'a', weight: 2 }).control).toEqual({ job: 'a', weight: 2 });
  expect(() => asJob(config, { weight: 2 })).toThrow('--weight: needs a job');
});
