import { MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { Interposer, type SessionOptions } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './helpers.js';

/** What `bucket` has without other keys: their bytes are 5000, 5001 and so on. */
export const KEYS = ['a/x.jpg', 'a/Ünï cödé.jpg', 'a/deep/er/y.jpg', 'b/z.bin', 'top.txt'];

/** Leaves all objects in the source. */
export const LEAVES_ALL: PlacementPolicy = { name: 'leavesAll', place: () => undefined };

/** A source that is no directory, served. */
export interface Bucket {
  readonly interposer: Interposer;
  readonly root: string;
  readonly bytesOf: (key: string) => Buffer;
  readonly source: MemoryDriver;
}

/** Serves objects of a source that is no directory, below a path at which there is nothing. */
export async function bucket(
  options: Partial<SessionOptions> & {
    readonly policy?: PlacementPolicy;
    readonly keys?: readonly string[];
  } = {},
): Promise<Bucket> {
  const { policy, keys = KEYS, ...others } = options;
  const source = new MemoryDriver({ quota: '1GiB' });
  const contents = new Map(keys.map((key, i) => [key, Buffer.from(someBytes(5000 + i, i + 1))]));
  for (const [key, content] of contents) await source.write(key, content, { size: content.byteLength });
  const above = temporaryDirectory();
  const root = path.join(above, 'not', 'there');
  const tier = new FileSystemDriver({ root: path.join(above, 'tier'), writable: true });
  const interposer = await Interposer.open({
    hierarchy: {
      source,
      tiers: [{ driver: tier, quota: '1GiB' }],
      placement: new PlacementHandler({ policy }),
    },
    root,
    ...others,
  });
  onTestFinished(() => interposer.close());
  return { interposer, root, source, bytesOf: (key) => contents.get(key) ?? Buffer.alloc(0) };
}
