import { NatsRegistry } from '@tiered/cluster/nats';
import { describe, it } from 'vitest';
import { processTests } from '../../packages/cluster/test/registry/process-tests.js';
import { registrySuite, TTL_MS } from '../../packages/cluster/test/registry/suite.js';
import { describeNats, sharedServer } from './nats-servers.js';

describeNats((program) => {
  const server = sharedServer(program);
  let buckets = 0;
  const options = () => ({ servers: server().url, name: `bucket-${(buckets += 1)}`, ttlMs: TTL_MS });
  describe('[Y1] NatsRegistry', () => {
    registrySuite({
      test: it,
      factory: async () => {
        const ofTest = options();
        return {
          make: () => new NatsRegistry(ofTest),
          pass: async () => undefined,
          cleanUp: async () => undefined,
        };
      },
    });
    processTests({ engine: () => ({ kind: 'nats', ...options() }) });
  });
});
