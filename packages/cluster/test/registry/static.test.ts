import { describe, expect, it } from 'vitest';
import { StaticRegistry } from '../../src/registry/index.js';
import { entryOf } from './suite.js';

const members = [
  { rank: 0, url: 'http://a:9400' },
  { rank: 2, url: 'http://b:9400' },
];
const put = { ttlMs: 1000 };
const invalid = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' });

describe('a static registry', () => {
  it('[Y5] has the members of its list, whoever puts what', async () => {
    const registry = new StaticRegistry({ members });
    await expect(registry.all()).rejects.toMatchObject({ code: 'TIERED_NOT_OPEN' });
    await registry.open();
    const listed = members.map(({ rank, url }) =>
      entryOf(`rank-${rank}`, `rank-${rank}`, { rank, url, share: true }),
    );
    expect(await registry.all()).toEqual(listed);
    expect(await registry.put(entryOf('rank-2', 'x', { rank: 2, url: '', share: false }), put)).toBe(true);
    expect(await registry.put(entryOf('rank-1', 'x'), put)).toBe(false);
    registry.watch()();
    await registry.leave('rank-0', 'rank-0');
    expect(await registry.all()).toEqual(listed);
    await expect(registry.put(entryOf('a b', 'x'), put)).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
    });
    await registry.close();
    await expect(registry.all()).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  });

  it('refuses lists that cannot be', () => {
    for (const list of [
      [{ rank: -1, url: 'http://a' }],
      [{ rank: 0.5, url: 'http://a' }],
      [{ rank: 0, url: 'a:9400' }],
      [{ rank: 0, url: '' }],
      [...members, { rank: 0, url: 'http://c' }],
    ])
      expect(() => new StaticRegistry({ members: list })).toThrow(invalid);
  });
});

describe('the members that torchrun has started', () => {
  const urls = async (env: NodeJS.ProcessEnv) => {
    const registry = StaticRegistry.fromTorch(env);
    await registry.open();
    return (await registry.all()).map(({ record }) => (record as { url: string }).url);
  };

  it('[Y5] are one for each rank, where the template says', async () => {
    const one = { TIERED_PEERS: 'worker-{rank}.training.default.svc:9400', WORLD_SIZE: '3' };
    expect(await urls(one)).toEqual(
      [0, 1, 2].map((rank) => `http://worker-${rank}.training.default.svc:9400`),
    );
    const four = { TIERED_PEERS: 'https://w-{node}.t:940{local}', WORLD_SIZE: '4', LOCAL_WORLD_SIZE: '2' };
    expect(await urls(four)).toEqual(
      ['0.t:9400', '0.t:9401', '1.t:9400', '1.t:9401'].map((end) => `https://w-${end}`),
    );
    const onOneHost = { TIERED_PEERS: 'localhost:940{local}', WORLD_SIZE: '2', LOCAL_WORLD_SIZE: '2' };
    expect(await urls(onOneHost)).toEqual(['http://localhost:9400', 'http://localhost:9401']);
  });

  it.each([
    [{ WORLD_SIZE: '2' }, /TIERED_PEERS/],
    [{ TIERED_PEERS: 'worker.training:9400', WORLD_SIZE: '2' }, /TIERED_PEERS/],
    [{ TIERED_PEERS: 'worker-{rank}:9400' }, /WORLD_SIZE/],
    [{ TIERED_PEERS: 'worker-{rank}:9400', WORLD_SIZE: '0' }, /WORLD_SIZE/],
    [{ TIERED_PEERS: 'worker-{rank}:9400', WORLD_SIZE: '2', LOCAL_WORLD_SIZE: 'x' }, /LOCAL_WORLD_SIZE/],
    [{ TIERED_PEERS: 'a b{rank}', WORLD_SIZE: '2' }, /url/],
  ])('have to be told: %j', (env, message) => {
    expect(() => StaticRegistry.fromTorch(env)).toThrow(message);
  });
});
