import { isTieredError, Random } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { diskUsage, hierarchyOf, objectsOf, readEpoch, tierOf, type Place } from '../training.js';

/** What the process found out, printed as JSON. */
export interface Outcome {
  /** Of each epoch: bytes of copies on the tier when it began, and that were brought from the source. */
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
  /** On the disk: copies, all that is there, and what the file system has left. */
  readonly bytes: number;
  readonly diskBytes: number;
  readonly temporary: string[];
  readonly freeBytes: number;
}

const place = JSON.parse(process.argv[2] ?? '') as Place;
const [, , , what, readers] = process.argv;
const root = tierOf(place, 0);
const ballast = path.join(root, '.tiered', 'ballast');

/** Leaves not a block of the disk to anybody. */
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
}

const clock = new ManualClock();
const objects = objectsOf(place);
const random = new Random(1);
const outcome = {
  epochs: [] as { had: number; brought: number }[],
  shrunk: [] as number[],
  faults: [] as string[],
  outOfService: 0,
};

async function begin(): Promise<ReturnType<typeof hierarchyOf>> {
  const begun = hierarchyOf(place, undefined, clock);
  begun.hierarchy.on('tierShrunk', ({ quotaBytes }) => outcome.shrunk.push(quotaBytes));
  begun.hierarchy.on('tierOutOfService', () => (outcome.outOfService += 1));
  begun.hierarchy.on('tierFault', ({ error }) =>
    outcome.faults.push(isTieredError(error) ? error.code : String(error)),
  );
  await begun.hierarchy.open();
  return begun;
}

let { hierarchy, brought } = await begin();

async function epoch(): Promise<void> {
  const before = brought();
  const had = diskUsage(root).bytes;
  await readEpoch(hierarchy, objects, random, { readers: Number(readers) });
  await hierarchy.idle();
  outcome.epochs.push({ had, brought: brought() - before });
}

if (what === 'index') {
  await hierarchy.place([...objects.keys()][0] ?? '');
  fill();
  for (let i = 0; i < 2; i++) await epoch();
  fs.rmSync(ballast);
  // A quota that was lowered holds until the next start.
  await hierarchy.close();
  ({ hierarchy, brought } = await begin());
}
/**
 * As long as a tier stays out of service. Then what could not be recorded, for lack of room, is tried again,
 * and so is what could not be placed.
 */
async function later(): Promise<void> {
  await clock.advance(100_000);
  await hierarchy.idle();
}

for (let i = 0; i < 4; i++) {
  await later();
  await epoch();
}
await later();
const { tiers, placement } = hierarchy.stats();
const { quotaBytes, usedBytes, reservedBytes } = tiers[0] ?? {
  quotaBytes: 0,
  usedBytes: 0,
  reservedBytes: 0,
};
const { bavail, bsize } = fs.statfsSync(root);
const { bytes, diskBytes, temporary } = diskUsage(root);
await hierarchy.close();
const told: Outcome = {
  ...outcome,
  placed: placement.placed,
  failed: placement.failed,
  quotaBytes,
  usedBytes,
  reservedBytes,
  bytes,
  diskBytes,
  temporary,
  freeBytes: bavail * bsize,
};
process.stdout.write(JSON.stringify(told));
