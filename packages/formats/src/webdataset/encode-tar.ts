import { configError } from '@tiered/core/internal';
import { Header } from 'tar/header';
import { Pax } from 'tar/pax';
import { compressorOf } from '../reading/shards.js';
import { BLOCK } from './members.js';
import { partOf } from './found-samples.js';
import type { WebdatasetSample } from './webdataset.js';

/** Options of `encodeTar`. */
export interface EncodeTarOptions {
  /**
   * How the shard is compressed as a whole. Default: `none`. Samples of a compressed shard cannot be read
   * singly, and images are compressed already.
   */
  readonly compression?: 'none' | 'gzip' | undefined;
}

/** Paths of as many bytes are in a pax header, which has no such limit. */
const LONG = 100;

/**
 * Makes a whole WebDataset shard in memory: as large as the parts, with 1 to 2 KiB for each. The same
 * samples give the same bytes. If it is to be compressed, that happens before the call returns.
 * @param samples In the order in which they will be read.
 * @throws TieredError `TIERED_CONFIG_INVALID` for samples that would not be read as they are: names with a
 * dot in the file name, parts that are not in lower case, samples without parts, and two in a row with one
 * name; and for another compression.
 */
export function encodeTar(
  samples: Iterable<WebdatasetSample>,
  { compression = 'none' }: EncodeTarOptions = {},
): Uint8Array {
  const compress = compressorOf(compression, ['none', 'gzip']);
  const blocks: Uint8Array[] = [];
  let before: string | undefined;
  for (const { name, parts } of samples) {
    if (parts.size === 0) throw configError('parts', 'at least one part of each sample', name);
    if (name === before) throw configError('name', 'another name than that of the sample before', name);
    for (const [part, content] of parts) blocks.push(...memberOf(name, part, content));
    before = name;
  }
  return compress(Buffer.concat([...blocks, new Uint8Array(2 * BLOCK)]));
}

/** The headers, the content and the padding of a part. */
function memberOf(name: string, part: string, content: Uint8Array): Uint8Array[] {
  const path = `${name}.${part}`;
  const read = partOf(path);
  if (read?.sample !== name || read.part !== part) {
    throw configError('name and part', 'a name without a dot and a part in lower case', path);
  }
  if (!path.isWellFormed() || /[\0\n]/.test(path))
    throw configError('name and part', 'well-formed text in one line', path);
  const size = content.byteLength;
  const about = { path, size, mode: 0o444, uid: 0, gid: 0, mtime: new Date(0) };
  const needsPax = Buffer.byteLength(path) >= LONG;
  // Readers take the path from the pax header. Some join it with what is cut here, or judge by that what it
  // is.
  const header = new Header({ ...about, path: needsPax ? 'path-in-pax-header' : path, type: 'File' });
  const block = Buffer.alloc(BLOCK);
  const headers = header.encode(block) || needsPax ? [new Pax(about).encode(), block] : [block];
  return [...headers, content, new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK)];
}
