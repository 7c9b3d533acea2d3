import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { ExaminedLevel } from '../configuration/levels.js';
import { messageOf } from '../words.js';
import { findingsOn, type Finding } from './finding.js';
import { within, type Patience } from '../within.js';

const KEY = 'trial';

/** Whether a tier with an index works on this machine, if the configuration has one. */
export async function tierWorks(levels: readonly ExaminedLevel[], patience: Patience): Promise<Finding[]> {
  if (!levels.some(({ driver, quotaBytes }) => quotaBytes !== undefined && driver.capabilities.index))
    return [];
  const { ok, problem } = findingsOn('machine');
  return tryTier(patience).then(
    () => [ok('a tier in a temporary directory was filled and read')],
    (error: unknown) => [
      problem(
        `a tier in a temporary directory failed: ${messageOf(error)}`,
        'Read the error: a tier needs threads, UNIX sockets, the database of the package libsql for this platform, and TMPDIR.',
      ),
    ],
  );
}

/**
 * Fills a tier in a temporary directory, and reads from it: what a tier needs beside its directory is a
 * database, threads, sockets and locks, of which installations and sandboxes may lack some. Leaves nothing.
 * @throws What a tier fails with here.
 */
async function tryTier(patience: Patience): Promise<void> {
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
