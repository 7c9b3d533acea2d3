import { crc32 } from '@node-rs/crc32';
import { memoryFor } from '@tiered/core/internal';
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';

/** Bytes that one byte of deflated data can be, at most. */
const DEFLATED = 1032;

/**
 * The files of a zip in memory that are wanted, each in memory of its own and with its checksum compared.
 * @param maxBytes More of them together are not decompressed.
 * @returns The files by their names; or what is wrong, as a clause.
 */
export async function membersOf(
  bytes: Uint8Array,
  isWanted: (name: string) => boolean,
  maxBytes: number,
): Promise<Map<string, Uint8Array> | string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const members = new Map<string, Uint8Array>();
  let left = maxBytes;
  try {
    const zip = await fromBufferPromise(buffer, { lazyEntries: true, autoClose: false });
    for await (const entry of zip.eachEntry()) {
      const { fileName, uncompressedSize } = entry;
      if (!isWanted(fileName)) continue;
      if (members.has(fileName)) return `zip: ${fileName} is there twice`;
      if (uncompressedSize > left)
        return `decompressed it has more than the ${maxBytes} bytes that maxBytes allows`;
      if (uncompressedSize > DEFLATED * (entry.compressedSize + 1)) return `zip: invalid size of ${fileName}`;
      left -= uncompressedSize;
      members.set(fileName, await contentOf(zip, entry));
    }
  } catch (error) {
    // Errors of its own: it reads memory only.
    return `zip: ${(error as Error).message}`;
  }
  return members;
}

async function contentOf(zip: ZipFile, entry: Entry): Promise<Uint8Array> {
  const content = memoryFor(entry.uncompressedSize);
  let at = 0;
  for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Uint8Array>) {
    // The stream ends with an error once it is longer than announced, which may come after the bytes.
    if (at + chunk.byteLength > content.byteLength) throw new Error('a file is longer than announced');
    content.set(chunk, at);
    at += chunk.byteLength;
  }
  if (at < content.byteLength) throw new Error('a file is shorter than announced');
  if (crc32(content) !== entry.crc32) throw new Error(`the checksum of ${entry.fileName} is wrong`);
  return content;
}
