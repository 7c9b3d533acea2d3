import { checked } from '../list-reader.js';
import { PrefetchClient } from '../../src/client/client.js';

/** What a process is to do: take batches to the end, or so many and then wait for its death. */
export interface Share {
  readonly path: string;
  readonly batch: number;
  /** Batches after which it holds what it has, asks for one more, and goes no further. */
  readonly holdAfter?: number;
  /** Whether it ends without closing its client. */
  readonly leavesOpen?: boolean;
}

/** What it says: how its samples come, those of a batch that had the right bytes, or that it holds. */
export type Said =
  { readonly transport: string } | { readonly took: readonly number[] } | { readonly holds: true };

const { path, batch, holdAfter, leavesOpen = false } = JSON.parse(process.argv[2] ?? '') as Share;

const say = (said: Said) => new Promise((resolve) => process.send?.(said, resolve));

const client = await PrefetchClient.connect({ path });
await say({ transport: client.transport });
for (let n = 1; ; n++) {
  const samples = await client.take(batch);
  if (samples.length === 0) break;
  await say({ took: samples.map(checked) });
  if (n === holdAfter) {
    const next = client.take(batch);
    await say({ holds: true });
    await next;
    throw new Error('a process that held its samples got more');
  }
  for (const sample of samples) sample.release();
}
if (!leavesOpen) await client.close();
process.disconnect();
