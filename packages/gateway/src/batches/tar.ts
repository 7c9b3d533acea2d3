import { Header } from 'tar/header';
import { Pax } from 'tar/pax';

const BLOCK = 512;
/** Names of as many bytes are in a pax header, which has no such limit. */
const LONG = 100;

/** What is behind the last entry. */
export const END_OF_TAR: Uint8Array = new Uint8Array(2 * BLOCK);

/** What stands before the bytes of an entry. */
export interface TarEntry {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly mtime: Date;
  /** Undefined where nobody asks for it. */
  readonly comment?: string | undefined;
}

/**
 * Makes the header of an entry, or both, if its name, its size or a comment needs one of pax, which costs
 * 1024 bytes. All readers of tar let a comment pass. The header of pax has only what the other one cannot
 * say: both sides spend more on its fields than on all else of a small entry.
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

/** Makes what fills the last block of an entry. */
export function paddingOf(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
