import { loadMeetingPlace } from '@tiered/config/internal';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryWith } from './helpers.js';

describe('where the job of a configuration meets others', () => {
  const placeOf = async (control: string, env = {}) => {
    const directory = await directoryWith({
      'tiers.yaml': `
        source: { driver: fs, root: "\${NOT_SET}" }
        tiers: nonsense
        ${control}`,
    });
    return { directory, found: await loadMeetingPlace(path.join(directory, 'tiers.yaml'), env) };
  };

  it('needs nothing else of it, and no variable that stands elsewhere', async () => {
    const { directory, found } = await placeOf(
      'control: { job: "${JOB}", weight: "${WEIGHT}", registry: { sqlite: "${WHERE}/jobs.db" } }',
      { WHERE: 'shared' },
    );
    expect(found).toEqual({ name: undefined, registry: { sqlite: path.join(directory, 'shared/jobs.db') } });
    const named = await placeOf('control: { job: "${JOB}", name: team }');
    expect(named.found).toEqual({ name: 'team', registry: undefined });
    expect((await placeOf('')).found).toBeUndefined();
  });

  it.each([
    ['control: { job: a, registry: { sqlite: "${WHERE}" } }', 'the environment variable WHERE is not set'],
    ['control: { job: a, name: "a b" }', 'control.name'],
    ['control: { job: a, registry: zookeeper }', 'control.registry'],
    ['control: nonsense', 'control: expected'],
  ])('is checked, at its line: %s', async (control, message) => {
    const refused = expect(placeOf(control)).rejects;
    await refused.toMatchObject({ code: 'TIERED_CONFIG_INVALID', message: expect.stringContaining(message) });
    await expect(placeOf(control)).rejects.toThrow(/tiers\.yaml:4:\d+: /);
  });
});
