import { driverConformance } from '@tiered/core/conformance';
import { RedisDriver, type RedisDriverOptions } from '@tiered/redis-adapter';
import { inject, it } from 'vitest';
import { missingForValkey, valkeyProgram, type RedisServer } from '../../tools/servers/redis.js';
import { describeRedis, newPrefix, optionsFor } from './helpers.js';

function subject(options: RedisDriverOptions) {
  const driver = new RedisDriver(options);
  return { driver, openResources: () => driver.openConnections };
}

/** Objects are put by another driver, with another size of chunks. */
function readingSubject(options: RedisDriverOptions) {
  const writer = new RedisDriver({ ...options, chunk: 700 });
  return {
    ...subject({ ...options, writable: false }),
    put: async (key: string, bytes: Uint8Array) => {
      await writer.open({});
      await writer.write(key, bytes, { size: bytes.byteLength });
    },
    cleanUp: () => writer.close(),
  };
}

const wrapped = inject('nightly');

describeRedis('a server of Redis', (servers) => {
  let server: Promise<RedisServer> | undefined;
  const optionsOf = async () => optionsFor(await (server ??= servers().start()));
  driverConformance({ test: it, factory: async () => subject(await optionsOf()) });
  driverConformance({
    test: (name, run) => it(`in small chunks: ${name}`, run),
    factory: async () => subject({ ...(await optionsOf()), chunk: 1000, concurrency: 3, memory: 5000 }),
    wrapped,
  });
  driverConformance({
    test: (name, run) => it(`for reading: ${name}`, run),
    factory: async () => readingSubject(await optionsOf()),
    wrapped,
  });
});

describeRedis('a cluster of Redis', (servers) => {
  let cluster: Promise<readonly RedisServer[]> | undefined;
  const factory = async () => {
    const nodes = (await (cluster ??= servers().startCluster())).map(({ port }) => `127.0.0.1:${port}`);
    return subject({ cluster: { nodes }, prefix: newPrefix(), writable: true, chunk: 1000 });
  };
  driverConformance({ test: it, factory, wrapped });
});

describeRedis(
  'a server of Valkey',
  (servers) => {
    let server: Promise<RedisServer> | undefined;
    const factory = async () => {
      server ??= servers().start({}, valkeyProgram());
      return subject({ ...optionsFor(await server), chunk: 1000 });
    };
    driverConformance({ test: it, factory, wrapped });
  },
  missingForValkey(),
);
