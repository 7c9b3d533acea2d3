import xxhash from 'xxhash-wasm';

/** XXH64 of bytes, and XXH32 of a text in UTF-8. */
export interface Checksum {
  bytes(bytes: Uint8Array): bigint;
  text(text: string): number;
}

let loading: Promise<Checksum> | undefined;

/**
 * Loads the checksum of content: XXH64 by xxhash-wasm, which needs no native code. Measured on chunks of 4
 * MiB, in GB/s: xxhash-wasm 15, XXH3 by hash-wasm 9, zlib's crc32 7, crc32c by hash-wasm 2.6 (a native crc32c
 * reached 11, a native XXH64 23). It is compiled once per process.
 */
export function loadChecksum(): Promise<Checksum> {
  loading ??= xxhash().then((compiled) => ({
    bytes: (bytes) => compiled.h64Raw(bytes),
    text: (text) => compiled.h32(text),
  }));
  return loading;
}
