import type fs from 'node:fs';
import type { SourceFile } from '../table/writer.js';

/** What a file system says of a file, of which any number may be wrong. */
export type FileFacts = Pick<fs.BigIntStats, 'size' | 'ino' | 'mtimeNs' | 'dev' | 'mode' | 'uid' | 'gid'>;

const fits = (bits: number, number: bigint) => BigInt.asUintN(bits, number) === number;

/**
 * What programs are told of a file. Undefined for one of which a table cannot tell it, such as one that was
 * changed after the year 2262: programs ask the source about that.
 */
export function sourceFileOf({ size, ino, mtimeNs, dev, mode, uid, gid }: FileFacts): SourceFile | undefined {
  const isTold = mode !== 0n && fits(53, size) && [mode, uid, gid].every((number) => fits(32, number));
  if (!isTold || BigInt.asIntN(64, mtimeNs) !== mtimeNs) return undefined;
  return {
    bytes: Number(size),
    inode: inodeOf(ino),
    modified: mtimeNs,
    device: dev,
    mode: Number(mode),
    user: Number(uid),
    group: Number(gid),
  };
}

/** The number of a file, which Node takes for negative from 2 ** 63 on. */
export function inodeOf(ino: bigint): bigint {
  return BigInt.asUintN(64, ino);
}
