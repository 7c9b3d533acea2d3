import { Header } from 'tar/header';
import { Pax } from 'tar/pax';

const BLOCK = 512;
/** Names of this many bytes or more go into a pax header, which has no such limit. */
const LONG = 100;

/** The blocks after the last entry. */
export const END_OF_TAR: Uint8Array = new Uint8Array(2 * BLOCK);

/** The fields of the header of an entry. */
export interface TarEntry {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly mtime: Date;
  /** Undefined if not requested. */
  readonly comment?: string | undefined;
}

/**
 * Makes the header of an entry. If the name, the size or a comment needs it, a pax header precedes it, at a
 * cost of 1024 bytes. All readers of tar let a comment pass. The pax header has only what the other one
 * cannot say: both sides spend more on its fields than on the rest of a small entry.
 */
export function headerOf({ path, size, mtime, comment }: TarEntry): Uint8Array {
  const about = { size, mtime, mode: 0o644, uid: 0, gid: 0 };
  const isLong = Buffer.byteLength(path) >= LONG;
  const header = new Header({ ...about, path: isLong ? 'path-in-pax-header' : path, type: 'File' });
  const block = Buffer.alloc(BLOCK);
  const isTooMuch = header.encode(block);
  if (!isTooMuch && !isLong && comment === undefined) return block;
  const said = {
    ...(isTooMuch && about),
    ...(isLong && { path }),
    ...(comment !== undefined && { comment }),
  };
  return Buffer.concat([new Pax(said).encode(), block]);
}

/** Makes the padding of an entry's last block. */
export function paddingOf(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
