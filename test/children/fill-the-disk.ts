import { isTieredError, Random } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { diskUsage, hierarchyOf, logOf, objectsOf, readEpoch, tierOf, type Place } from '../training.js';

/** What the process found out, printed as JSON. */
export interface Outcome {
  /** Of each epoch: bytes that the tier had when it began, and that were brought from the source. */
  readonly epochs: { readonly had: number; readonly brought: number }[];
  readonly shrunk: number[];
  /** Codes of faults of the tier. */
  readonly faults: string[];
  readonly outOfService: number;
  readonly placed: number;
  readonly failed: number;
  readonly quotaBytes: number;
  readonly usedBytes: number;
  readonly reservedBytes: number;
  /** On the disk: copies, and what the file system has left. */
  readonly bytes: number;
  readonly temporary: string[];
  readonly freeBytes: number;
}

const place = JSON.parse(process.argv[2] ?? '') as Place;
const [, , , what, readers] = process.argv;
const PAGE = 4096;
const root = tierOf(place, 0);
const ballast = path.join(root, '.tiered', 'ballast');

/** Leaves not a byte of the disk to anybody: the end of the log's last page is filled with empty lines. */
function fill(): void {
  for (let block = 1024 * 1024; block >= 1; block = Math.floor(block / 2)) {
    for (;;) {
      try {
        fs.appendFileSync(ballast, new Uint8Array(block));
      } catch {
        break;
      }
    }
  }
  const { size } = fs.statSync(logOf(place, 0));
  fs.appendFileSync(logOf(place, 0), '\n'.repeat(PAGE - (size % PAGE)));
}

const clock = new ManualClock();
const { hierarchy, brought } = hierarchyOf(place, undefined, clock);
const objects = objectsOf(place);
const random = new Random(1);
const outcome = {
  epochs: [] as { had: number; brought: number }[],
  shrunk: [] as number[],
  faults: [] as string[],
  outOfService: 0,
};
hierarchy.on('tierShrunk', ({ quotaBytes }) => outcome.shrunk.push(quotaBytes));
hierarchy.on('tierOutOfService', () => (outcome.outOfService += 1));
hierarchy.on('tierFault', ({ error }) =>
  outcome.faults.push(isTieredError(error) ? error.code : String(error)),
);

async function epoch(): Promise<void> {
  const before = brought();
  const had = hierarchy.stats().tiers[0]?.usedBytes ?? 0;
  await readEpoch(hierarchy, objects, random, { readers: Number(readers) });
  await hierarchy.idle();
  outcome.epochs.push({ had, brought: brought() - before });
}

await hierarchy.start();
if (what === 'log') {
  await hierarchy.place([...objects.keys()][0] ?? '');
  fill();
  for (let i = 0; i < 2; i++) await epoch();
  fs.rmSync(ballast);
}
for (let i = 0; i < 4; i++) {
  // As long as a tier stays out of service.
  await clock.advance(100_000);
  await epoch();
}
const { tiers, placement } = hierarchy.stats();
const { quotaBytes, usedBytes, reservedBytes } = tiers[0] ?? {
  quotaBytes: 0,
  usedBytes: 0,
  reservedBytes: 0,
};
const { bavail, bsize } = fs.statfsSync(root);
const { bytes, temporary } = diskUsage(root);
await hierarchy.close();
const told: Outcome = {
  ...outcome,
  placed: placement.placed,
  failed: placement.failed,
  quotaBytes,
  usedBytes,
  reservedBytes,
  bytes,
  temporary,
  freeBytes: bavail * bsize,
};
process.stdout.write(JSON.stringify(told));
