import { RedisDriver, type RedisDriverOptions } from '@tiered/redis-adapter';
import { afterAll, describe, onTestFinished } from 'vitest';
import { registerMissing } from '../missing.js';
import { missingForRedis, RedisServers, type RedisServer } from '../../tools/servers/redis.js';

/**
 * Registers tests that start servers, which run until the last one has ended. Where Redis is not installed,
 * there is one skipped test instead that says how to install it; with `CI=true` it fails.
 */
export function describeRedis(
  name: string,
  register: (servers: () => RedisServers) => void,
  missing = missingForRedis(),
): void {
  describe(name, () => {
    if (missing !== undefined) {
      registerMissing(name, missing);
      return;
    }
    let servers: RedisServers | undefined;
    afterAll(() => servers?.close());
    register(() => (servers ??= new RedisServers()));
  });
}

let prefixes = 0;

/** A prefix that no other test of this file has. */
export const newPrefix = (): string => `test-${(prefixes += 1)}:`;

/** Options of a driver for this server, which may write below a prefix of its own. */
export function optionsFor({ port }: RedisServer): RedisDriverOptions {
  return { url: `redis://127.0.0.1:${port}`, prefix: newPrefix(), writable: true };
}

/** A driver, open; closed when the test ends. */
export async function openDriver(options: RedisDriverOptions): Promise<RedisDriver> {
  const driver = new RedisDriver(options);
  await driver.open({});
  onTestFinished(() => driver.close());
  return driver;
}
