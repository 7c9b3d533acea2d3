import { ManualClock } from '@tiered/core/testing';
import { describe, it } from 'vitest';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SqliteRegistry } from '../../src/registry/index.js';
import { processTests } from './process-tests.js';
import { registrySuite } from './suite.js';

describe('[Y1] SqliteRegistry', () => {
  registrySuite({
    test: it,
    factory: async () => {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'registry-'));
      const clock = new ManualClock();
      const file = path.join(directory, 'registry.db');
      return {
        make: () => new SqliteRegistry({ path: file, clock, now: () => clock.now() }),
        pass: (ms) => clock.advance(ms),
        cleanUp: async () => fs.rmSync(directory, { recursive: true }),
      };
    },
  });
  processTests({
    engine: () => ({
      kind: 'sqlite',
      path: path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'registry-')), 'r.db'),
    }),
  });
});
