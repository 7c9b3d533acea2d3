import { ManualClock } from '@tiered/core/testing';
import { SqliteRegistry } from '@tiered/cluster/registry';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { entryOf } from '../../packages/cluster/test/registry/suite.js';
import { FrozenDisk, whyNoFrozenDisk } from '../frozen-disk.js';

const missing = whyNoFrozenDisk();
const put = { ttlMs: 60_000 };

describe(`a registry on a disk that hangs (needs: ${missing ?? 'what is here'})`, () => {
  it.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
    '[Y2] gives up calls in time, and answers again when the disk does',
    async () => {
      const disk = await FrozenDisk.make();
      onTestFinished(() => disk.close());
      const clock = new ManualClock();
      const options = { path: path.join(disk.path, 'own/registry.db'), clock, now: () => 0 };
      const registry = new SqliteRegistry(options);
      onTestFinished(() => registry.close());
      await registry.open();
      await registry.put(entryOf('rank-0', 'a'), put);
      await disk.freeze();
      // The first one hangs, and the others wait behind it.
      for (let i = 0; i < 3; i++) {
        const call = registry.put(entryOf('rank-0', 'a', i), put);
        const late = expect(call).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
        await clock.advance(2000);
        await late;
      }
      await disk.thaw();
      expect(await registry.put(entryOf('rank-0', 'a', 'last'), put)).toBe(true);
      expect(await registry.all()).toEqual([entryOf('rank-0', 'a', 'last')]);
      await registry.close();
    },
  );
});
