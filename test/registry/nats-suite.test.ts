import { NatsRegistry } from '@tiered/cluster/nats';
import { describe, it } from 'vitest';
import { processTests } from '../../packages/cluster/test/registry/process-tests.js';
import { registrySuite } from '../../packages/cluster/test/registry/suite.js';
import { describeNats, sharedServer } from './nats-servers.js';

describeNats((program) => {
  const server = sharedServer(program);
  let buckets = 0;
  const options = (ttlMs: number) => ({ servers: server().url, name: `bucket-${(buckets += 1)}`, ttlMs });
  describe('[Y1] NatsRegistry', () => {
    registrySuite({
      test: it,
      factory: async (ttlMs) => {
        const ofTest = options(ttlMs);
        return {
          make: () => new NatsRegistry(ofTest),
          pass: async () => undefined,
          cleanUp: async () => undefined,
        };
      },
    });
    processTests({ engine: (ttlMs) => ({ kind: 'nats', ...options(ttlMs) }) });
  });
});
