import { tagOf } from '@tiered/core/internal';
import path from 'node:path';
import { Records } from '../../../packages/tiering/src/index/thread/records.js';
import type { SimulatedDisk } from './disk.js';
import { Finding } from './finding.js';

/** All that is on a disk is in its index, and all that is there is placed. */
export async function checkKnown(disk: SimulatedDisk): Promise<void> {
  const index = new Records({ path: path.join(disk.directory, 'index.db'), durable: false, logPages: 128 });
  const tags = new Set(index.tags());
  const { copies } = index.state({ member: '' });
  index.close();
  index.file.statements.clear();
  const names = await disk.names();
  const unknown = names.filter((name) => !tags.has(tagOf(name) ?? NaN));
  if (unknown.length > 0) throw new Finding('unknown', `${disk.name} holds ${unknown.join(', ')}`);
  if (tags.size !== copies) throw new Finding('unfinished', `${tags.size - copies} copies of ${tags.size}`);
  if (disk.temporaryFiles > 0) throw new Finding('unknown', `${disk.temporaryFiles} half-written files`);
}
