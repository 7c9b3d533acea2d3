import { loadHierarchy } from '@tiered/config';
import { isTieredError } from '@tiered/core';
import { expect, it } from 'vitest';

const load = (options: object, env = {}) =>
  loadHierarchy({ source: { driver: 'redis', ...options } }, { env });

it('driver: redis is made of every option', async () => {
  const common = {
    keyPrefix: 'a:',
    chunk: '1MiB',
    ttlMs: 1000,
    timeoutMs: 10,
    concurrency: 5,
    memory: '1MiB',
  };
  const user = { username: 'me', password: '${REDIS_PASSWORD}' };
  const env = { REDIS_PASSWORD: 'the-secret' };
  const sentinel = { name: 'main', nodes: ['a:1'], ...user };
  for (const place of [{ url: 'redis://cache' }, { sentinel }, { cluster: { nodes: ['a', 'b'] } }]) {
    const hierarchy = await load({ ...common, ...user, ...place }, env);
    expect(hierarchy.source.location).toMatch(/^redis.*\/0\/a:\/$/);
    await hierarchy.close();
  }
});

it.each([
  {},
  { url: 1 },
  { url: 'redis://cache', bucket: 'x' },
  { url: 'redis://cache', password: 12345678 },
  { url: 'redis://cache', cluster: { nodes: ['a'] } },
  { cluster: { nodes: [] } },
  { cluster: { nodes: [1] } },
  { sentinel: { nodes: ['a'] } },
  { url: 'rediss://cache', tls: { ca: './not-there.pem' } },
  { url: 'rediss://cache', tls: { ca: '~/ca.pem' } },
])('driver: redis refuses %j, and shows no password', async (options) => {
  const error: unknown = await load(options).catch((thrown: unknown) => thrown);
  expect(isTieredError(error, 'TIERED_CONFIG_INVALID')).toBe(true);
  expect(String(error)).not.toContain('12345678');
});
