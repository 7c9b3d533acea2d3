import { loadConfig } from '@tiered/config';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryWith, refusalOf } from './helpers.js';

const source = { driver: 'memory' };

describe('the section cluster', () => {
  it('gives numbers of variables, and paths relative to the file', async () => {
    const directory = await directoryWith({
      'config/tiers.yaml': `
        source: { driver: memory }
        cluster:
          name: \${JOB}
          registry: { nats: { servers: ["nats://a:1"], credsFile: me.creds, password: "\${SECRET}", user: me } }
          rank: \${RANK}
          size: \${SIZE}
          port: 94\${RANK}0
          token: \${SECRET}`,
    });
    const file = path.join(directory, 'config/tiers.yaml');
    const SECRET = 'of sixteen letters';
    const { cluster } = await loadConfig(file, { env: { JOB: 'imagenet', RANK: '3', SIZE: '8', SECRET } });
    const nats = { servers: ['nats://a:1'], user: 'me', password: SECRET };
    expect(cluster).toEqual({
      name: 'imagenet',
      registry: { nats: { ...nats, credsFile: path.join(directory, 'config/me.creds') } },
      rank: 3,
      size: 8,
      port: 9430,
      token: SECRET,
    });
    expect((await loadConfig({ source })).cluster).toBeUndefined();
  });

  it('shows no secret in messages, whether it is a variable or not', async () => {
    for (const token of ['hunter2', '${SECRET}']) {
      const env = { SECRET: 'hunter2' };
      const nats = { servers: ['nats://a:1'], password: 7, token: 8 };
      const cluster = { name: 'a', token, registry: { nats } };
      const { message } = await refusalOf({ source, cluster }, { env });
      expect(message).toContain('cluster.token: expected a secret of at least 16 characters');
      expect(message).not.toMatch(/hunter2|7|8/);
    }
  });

  it('has a rank that is a number in spite of a variable', async () => {
    const cluster = { name: 'a', rank: '${RANK}' };
    for (const RANK of ['', '-1', '1.5', 'first', '1e3'])
      expect((await refusalOf({ source, cluster }, { env: { RANK } })).message).toContain('cluster.rank');
  });
});
