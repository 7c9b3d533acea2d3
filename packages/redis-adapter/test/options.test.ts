import { RedisDriver, type RedisDriverOptions } from '@tiered/redis-adapter';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

const URL_OF = 'redis://cache';

describe('the options of RedisDriver', () => {
  it.each<[string, RedisDriverOptions, string]>([
    ['a server', { url: URL_OF }, 'redis://cache:6379/0/tiered:/'],
    ['its database', { url: 'redis://cache:7000/3', prefix: 'a/' }, 'redis://cache:7000/3/a//'],
    ['TLS', { url: 'rediss://user:secret@cache/', tls: true }, 'redis://cache:6379/0/tiered:/'],
    ['IPv6', { url: 'redis://[::1]:7000' }, 'redis://::1:7000/0/tiered:/'],
    [
      'a cluster',
      { cluster: { nodes: ['b:2', 'a', '[::1]:3'] } },
      'redis-cluster://::1:3,a:6379,b:2/0/tiered:/',
    ],
    ['Sentinels', { sentinel: { name: 'main', nodes: ['a:1'] } }, 'redis-sentinel://a:1/main/0/tiered:/'],
  ])('tell the place of %s', (_, options, location) => {
    const driver = new RedisDriver(options);
    expect(driver.location).toBe(location);
    expect(driver.name).toBe(location.replace('://', ':'));
    expect(driver.identity).toBeUndefined();
  });

  it.each<[string, object, RegExp]>([
    ['no server', {}, /^url: /],
    ['two places', { url: URL_OF, cluster: { nodes: ['a'] } }, /^url: /],
    ['another protocol', { url: 'http://user:secret@cache' }, /^url: .*not shown/],
    ['no URL', { url: 'cache:6379' }, /^url: /],
    ['a path', { url: 'redis://cache/secret' }, /^url: .*not shown/],
    ['a parameter', { url: 'redis://cache?password=secret' }, /^url: .*not shown/],
    ['a broken escape', { url: 'redis://user:secret%@cache' }, /^url: .*percent/],
    ['no servers of a cluster', { cluster: { nodes: [] } }, /^cluster.nodes: /],
    ['a URL as a server', { cluster: { nodes: ['redis://user:secret@a'] } }, /^cluster.nodes: /],
    ['Sentinels without a name', { sentinel: { nodes: ['a'] } }, /^sentinel.name: /],
    ['no Sentinels', { sentinel: { name: 'main' } }, /^sentinel.nodes: /],
    ['one slot for all', { url: URL_OF, prefix: '{tier}' }, /^prefix: /],
    ['NUL', { url: URL_OF, prefix: '\0' }, /^prefix: /],
    ['no chunk', { url: URL_OF, chunk: 0 }, /^chunk: /],
    ['a chunk that is too large', { url: URL_OF, chunk: '65MiB' }, /^chunk: /],
    ['no time to live', { url: URL_OF, ttlMs: 0 }, /^ttlMs: /],
    ['a time to live without an end', { url: URL_OF, ttlMs: Infinity }, /^ttlMs: /],
    ['a deadline without an end', { url: URL_OF, timeoutMs: Infinity }, /^timeoutMs: /],
    ['no commands', { url: URL_OF, concurrency: 0 }, /^concurrency: /],
    ['no memory', { url: URL_OF, memory: 0 }, /^memory: /],
    ['TLS over redis://', { url: URL_OF, tls: { ca: 'secret' } }, /^tls: /],
    ['a certificate without a key', { url: 'rediss://cache', tls: { cert: 'secret' } }, /^tls: /],
    ['TLS off over rediss://', { url: 'rediss://cache', tls: false }, /^tls: /],
  ])('are refused with %s', (_, options, message) => {
    expect(() => new RedisDriver(options)).toThrow(
      expect.objectContaining({
        code: 'TIERED_CONFIG_INVALID',
        message: expect.stringMatching(message) as string,
      }),
    );
    try {
      new RedisDriver(options);
    } catch (error) {
      expect(inspect(error, { depth: 10, showHidden: true }).split(' at ')[0]).not.toContain('secret');
    }
  });

  it('[J4] show no password', () => {
    const driver = new RedisDriver({ url: 'redis://user:the-secret@cache', password: 'the-secret-2' });
    expect(inspect(driver, { depth: 10, showHidden: true })).not.toContain('secret');
  });
});
