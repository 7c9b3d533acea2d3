import { assertNothingHeld, ticked } from '@tiered/core/testing';
import { KEYS, type Dataset } from './dataset.js';
import type { SimulatedDisk } from './disk.js';
import { Finding } from './finding.js';
import type { Knowledge } from './knowledge.js';
import type { Life } from './life.js';

/** Places an object. */
export async function place(life: Life, known: Knowledge, key: (typeof KEYS)[number]): Promise<void> {
  const lowest = known.lowest(key);
  try {
    await life.hierarchy.place(key);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'TIERED_CLOSED' && life.isClosing) return;
    if (code === 'TIERED_NOT_FOUND' && known.mayBeMissing(key, lowest)) return;
    throw new Finding('failed place', `${key}: ${String(error)}`, error);
  }
}

/** Lists the source anew. */
export async function rescan(life: Life, known: Knowledge, dataset: Dataset): Promise<void> {
  // What was not known before is known from the listing, which may be older than the next read.
  known.begin(KEYS, true);
  const before = KEYS.map((key) => dataset.present(key));
  try {
    await life.hierarchy.rescan();
  } catch (error) {
    if (life.isClosing) return;
    throw new Finding('failed rescan', String(error), error);
  }
  for (const [i, key] of KEYS.entries()) known.relisted(key, before[i] ?? 0);
}

/** Closes a hierarchy, after which nothing of it may be open. */
export async function close(life: Life, disks: readonly SimulatedDisk[]): Promise<void> {
  await life.close();
  for (let turns = 0; turns < 5; turns++) await ticked();
  try {
    assertNothingHeld(life.hierarchy.stats());
  } catch (error) {
    throw new Finding('held after close', String(error), error);
  }
  const { underWay } = life.process;
  if (underWay.size > 0) throw new Finding('held after close', [...underWay].join(', '));
  for (const [level, members] of life.members.entries())
    for (const member of members)
      if (disks[level]?.isRunning(member) === true)
        throw new Finding('held after close', `${member} is open`);
  life.end();
}
