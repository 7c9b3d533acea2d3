import { Header } from 'tar/header';
import { Pax } from 'tar/pax';

export interface Entry {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** With what stands behind it. */
  readonly etag?: string | undefined;
}

/** An entry of a tar as the gateway sends it. */
export function entryOf({ name, bytes, etag }: Entry): Buffer {
  const about = { path: name, size: bytes.byteLength, ...(etag !== undefined && { comment: etag }) };
  const header = Buffer.alloc(512);
  new Header({ ...about, path: 'path-in-pax-header', type: 'File' }).encode(header);
  return Buffer.concat([new Pax(about).encode(), header, bytes, Buffer.alloc(-bytes.byteLength & 511)]);
}
