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
  readonly etag?: string | undefined;
}

/**
 * Makes the header of an entry, or both, if its name, its size or an ETag needs one of pax. The ETag is the
 * `comment` there, which all readers of tar let pass. It costs 1024 bytes.
 */
export function headerOf({ path, size, mtime, etag }: TarEntry): Uint8Array {
  const about = { path, size, mtime, mode: 0o644, uid: 0, gid: 0 };
  const needsPax = etag !== undefined || Buffer.byteLength(path) >= LONG;
  const header = new Header({ ...about, path: needsPax ? 'path-in-pax-header' : path, type: 'File' });
  const block = Buffer.alloc(BLOCK);
  if (!header.encode(block) && !needsPax) return block;
  return Buffer.concat([new Pax(etag === undefined ? about : { ...about, comment: etag }).encode(), block]);
}

/** Makes what fills the last block of an entry. */
export function paddingOf(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
