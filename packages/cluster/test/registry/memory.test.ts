import { ManualClock } from '@tiered/core/testing';
import { describe, it } from 'vitest';
import { MemoryRecords, MemoryRegistry } from '../../src/registry/index.js';
import { registrySuite } from './suite.js';

describe('[Y1] MemoryRegistry', () => {
  registrySuite({
    test: it,
    factory: async () => {
      const clock = new ManualClock();
      const records = new MemoryRecords(clock);
      return {
        make: () => new MemoryRegistry(records),
        pass: (ms) => clock.advance(ms),
        cleanUp: async () => undefined,
      };
    },
  });
});
