import { MemoryDriver, systemClock } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import { Tier } from '@tiered/core/internal';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { logRoomOf } from '../../src/index/open-index.js';
import { Accounts } from '../../src/store/shared/accounts.js';

const BLOCK = 4096;

it('[Q1] a quota is met only once the log of the index has room to grow as well, however large the other members are', () => {
  const blocks = fc.integer({ min: 1, max: 500 }).map((count) => count * BLOCK);
  fc.assert(
    fc.property(blocks, blocks, blocks, blocks, (quota, larger, occupied, logBytes) => {
      const largestQuota = quota + larger;
      const grownBytes = Math.min(logBytes, logRoomOf(largestQuota));
      const state = {
        copies: 1,
        occupied,
        claimed: 0,
        directories: 1,
        fileBytes: 3 * BLOCK + grownBytes,
        logBytes: grownBytes,
        freeBytes: undefined,
        seq: 0,
        boot: '',
        quota,
        largestQuota,
        leased: 0,
        mine: 0,
        wanted: 0,
        members: 2,
      };
      const tier = new Tier(0, { driver: new MemoryDriver(), quota }, systemClock);
      const home = { isOnTier: true, blockBytes: BLOCK } as IndexHome;
      const events = { onLost: () => undefined, onEmptied: () => undefined };
      const accounts = new Accounts(tier, home, state, events);
      const mostBytes = accounts.usedBytes - grownBytes + logRoomOf(largestQuota);
      expect(accounts.excessBytes).toBe(Math.max(0, mostBytes - quota));
      // What was leased when there was room is no excess once it is a copy.
      if (accounts.unleased >= 0) expect(accounts.excessBytes).toBe(0);
    }),
  );
});

it('[Q2] a quota that met the end of the storage becomes what is used and free there, at most', () => {
  const blocks = fc.integer({ min: 0, max: 1000 }).map((count) => count * BLOCK);
  fc.assert(
    fc.property(blocks, fc.option(blocks, { nil: undefined }), blocks, (occupied, freeBytes, lost) => {
      const quota = 2000 * BLOCK;
      const state = {
        ...{ copies: 1, occupied, claimed: 0, directories: 0, fileBytes: BLOCK, logBytes: 0, freeBytes },
        ...{ seq: 0, boot: '', quota, largestQuota: quota, leased: 0, mine: 0, wanted: 0, members: 1 },
      };
      const tier = new Tier(0, { driver: new MemoryDriver(), quota }, systemClock);
      const home = { isOnTier: true, blockBytes: BLOCK } as IndexHome;
      const events = { onLost: () => undefined, onEmptied: () => undefined };
      const accounts = new Accounts(tier, home, state, events);
      const held = accounts.usedBytes + lost;
      const lowered = accounts.shrink(held, lost);
      expect(lowered).toBe(accounts.quotaBytes);
      expect(lowered).toBeGreaterThanOrEqual(accounts.usedBytes);
      expect(lowered).toBeLessThanOrEqual(Math.min(held, accounts.usedBytes + (freeBytes ?? Infinity)));
    }),
  );
});
