import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { within, type Patience } from '../within.js';

const KEY = 'trial';

/**
 * Fills a tier in a temporary directory, and reads from it: what a tier needs beside its directory is a
 * database, threads, sockets and locks, of which installations and sandboxes may lack some. Leaves nothing.
 * @throws What a tier fails with here.
 */
export async function tryTier(patience: Patience): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-doctor-'));
  const { clock } = patience;
  const source = new MemoryDriver();
  const warnings: string[] = [];
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver: new FileSystemDriver({ root: directory, writable: true, clock }), quota: '16MiB' }],
    placement: new PlacementHandler(),
    clock,
    warn: (line) => void warnings.push(line),
  });
  try {
    await source.write(KEY, new Uint8Array(1), { size: 1 });
    await within(patience, async (signal) => {
      await hierarchy.open({ signal });
      const level = await hierarchy.place(KEY, { signal });
      if (level !== 0) throw new Error(warnings.join('; ') || 'nothing can be placed on it');
      await hierarchy.read(KEY, { signal });
    });
  } finally {
    await hierarchy.close();
    await rm(directory, { recursive: true, force: true });
  }
}
