import {
  damaged,
  type IndexOptions,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import type { ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { FoundSamples, partOf, type Found } from './found-samples.js';
import { BLOCK, isTarHeader, memberAt, type AtPlace, type Member } from './members.js';

/** Options of `webdataset`. */
export type WebdatasetOptions = ShardOptions<'gzip' | 'zstd'>;

/** A sample of a WebDataset shard. */
export interface WebdatasetSample {
  /** The path of its files up to the first dot of the file name. webdataset calls it `__key__`. */
  readonly name: string;
  /** The content of its files by what is behind that dot, in lower case, such as `jpg` and `cls`. */
  readonly parts: ReadonlyMap<string, Uint8Array>;
}

const ADVICE = 'Write or fetch the shard again.';

/**
 * WebDataset shards: tar files in which the files of a sample follow one another, and have one name up to
 * the first dot. Parts are views of what was read. As in webdataset, these are ignored: directories,
 * links, names without a dot and those such as `__meta__`; hidden files too. To index a shard, only headers
 * are read where files are large (256 KiB and more), and all of it where they are small, or where it is
 * compressed.
 *
 * Files of one name that lie apart are damage, because each reader makes other samples of them. Where a name
 * comes again with a file that it had before, that is another sample.
 *
 * A tar has no checksums of content. A shard that lacks its end is damaged, and where damage ends the
 * table, the sample before it is left out, because it may lack files.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
 */
export function webdataset(options: WebdatasetOptions = {}): SampleFormat<WebdatasetSample> {
  const plain = { startBytes: BLOCK, isPlain: isTarHeader, index, decode };
  return { name: 'webdataset', ...maybeCompressed(plain, ['gzip', 'zstd'], options) };
}

/** Goes from member to member. Behind a header that is wrong, nobody knows where the next one is. */
async function index(window: ObjectWindow, { onDamage }: IndexOptions): Promise<RecordTable> {
  const tell = (offset: number, problem: string, advice = ADVICE) =>
    onDamage(damaged({ key: window.key, offset }, `tar: ${problem}`, advice));
  const samples = new FoundSamples(tell);
  let found: Found | undefined;
  for (let at = 0; ;) {
    const there = await placeAt(window, at);
    if (there.kind !== 'member') {
      if (there.kind === 'end') samples.add(found);
      else tell(at, there.problem);
      return samples.table();
    }
    const { member } = there;
    const part = member.isFile ? partOf(member.path) : undefined;
    if (part !== undefined) {
      if (found?.name !== part.sample) {
        samples.add(found);
        found = { name: part.sample, parts: new Set(), offset: at, end: at, isDamaged: false };
      }
      if (found.parts.has(part.part)) {
        found.isDamaged = true;
        tell(at, `${member.path} is there twice`);
      }
      found.parts.add(part.part);
      found.end = at + member.end;
    }
    at += member.end;
  }
}

/** What is at a place of the tar, of which as much is read as it takes to say that. */
async function placeAt(
  window: ObjectWindow,
  at: number,
): Promise<Exclude<AtPlace, { readonly kind: 'more' }>> {
  const left = window.size - at;
  let there = memberAt(window.peek(at, BLOCK) ?? (await window.read(at, BLOCK)), left);
  while (there.kind === 'more') {
    const bytes = await window.read(at, there.bytes);
    if (bytes.byteLength < there.bytes) return { kind: 'damage', problem: 'a header is cut off' };
    there = memberAt(bytes, left);
  }
  return there;
}

function decode({ key, offset, bytes }: RawRecord): WebdatasetSample {
  const parts = new Map<string, Uint8Array>();
  let name: string | undefined;
  for (let at = 0; at < bytes.byteLength;) {
    const member = wholeMember(bytes.subarray(at));
    if (typeof member === 'string') throw damaged({ key, offset: offset + at }, `tar: ${member}`, ADVICE);
    const part = member.isFile ? partOf(member.path) : undefined;
    if (part !== undefined) {
      name ??= part.sample;
      if (part.sample !== name || parts.has(part.part)) {
        throw damaged(
          { key, offset: offset + at },
          `tar: ${member.path} is not expected in sample ${name}`,
          ADVICE,
        );
      }
      parts.set(part.part, bytes.subarray(at + member.start, at + member.start + member.size));
    }
    at += member.end;
  }
  if (name === undefined) throw damaged({ key, offset }, 'tar: there is no sample', ADVICE);
  return { name, parts };
}

/** The member at the start of bytes that have it whole, or what is wrong. */
function wholeMember(bytes: Uint8Array): Member | string {
  const there = memberAt(bytes, bytes.byteLength);
  if (there.kind === 'member') return there.member;
  return there.kind === 'damage' ? there.problem : 'a header is missing';
}
