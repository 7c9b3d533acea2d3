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
}

/** Makes the header of an entry, or both, if its name or size needs one of pax. */
export function headerOf(entry: TarEntry): Uint8Array {
  const about = { ...entry, mode: 0o644, uid: 0, gid: 0 };
  const needsPax = Buffer.byteLength(entry.path) >= LONG;
  const header = new Header({ ...about, path: needsPax ? 'path-in-pax-header' : entry.path, type: 'File' });
  const block = Buffer.alloc(BLOCK);
  return header.encode(block) || needsPax ? Buffer.concat([new Pax(about).encode(), block]) : block;
}

/** Makes what fills the last block of an entry. */
export function paddingOf(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
