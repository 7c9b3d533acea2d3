import { Header } from 'tar/header';
import { Pax } from 'tar/pax';

/** Everything in a tar begins at a multiple of this. */
export const BLOCK = 512;

/** The most bytes of headers before a member: names, and whatever else is said of it. */
const MOST_HEADERS = 1024 * 1024;

/** A member of a tar. Offsets are from its first header. */
export interface Member {
  readonly path: string;
  /** Whether it is a file, and not a directory, a link or the like. */
  readonly isFile: boolean;
  /** Where its content is. */
  readonly start: number;
  readonly size: number;
  /** Where the next member begins, behind the padding. */
  readonly end: number;
}

/** What stands at a place of a tar where a member may begin. */
export type AtPlace =
  | { readonly kind: 'member'; readonly member: Member }
  | { readonly kind: 'end' }
  /** To say that, so many bytes from this place on are needed. */
  | { readonly kind: 'more'; readonly bytes: number }
  | { readonly kind: 'damage'; readonly problem: string };

const damage = (problem: string): AtPlace => ({ kind: 'damage', problem });

/** What the headers of a member say that come before its own. */
interface Extensions {
  path?: string;
  size?: number;
  /** Whether the content is that of a sparse file, without its holes. */
  isSparse?: boolean;
}

/**
 * The member that begins at the start of `bytes`.
 * @param left Bytes of the tar there are from this start on, of which `bytes` may be only the first.
 */
export function memberAt(bytes: Uint8Array, left: number): AtPlace {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const extensions: Extensions = {};
  for (let at = 0; at <= MOST_HEADERS;) {
    if (left < at + BLOCK)
      return damage(at === 0 && left === 0 ? 'its end is missing' : 'a header is cut off');
    if (bytes.byteLength < at + BLOCK) return { kind: 'more', bytes: at + BLOCK };
    const header = headerAt(buffer, at, extensions);
    if (typeof header === 'string') return damage(header);
    if (header === undefined)
      return at === 0 ? { kind: 'end' } : damage('no member follows behind its headers');
    const start = at + BLOCK;
    const extend = EXTENSIONS[header.type];
    if (extend === undefined) return memberOf(header, extensions, start, left);
    const end = start + header.size;
    if (end > MOST_HEADERS) break;
    if (end > left) return damage('a header is cut off');
    if (bytes.byteLength < end) return { kind: 'more', bytes: end };
    extend(extensions, buffer.subarray(start, end));
    at = start + padded(header.size);
  }
  return damage(`the headers before a member have more than ${MOST_HEADERS} bytes`);
}

/** What is used of a header. */
interface Known {
  readonly path: string;
  readonly type: Header['type'];
  readonly size: number;
}

/** The header at a place, what is wrong with it, or undefined if there are only zeros. */
function headerAt(buffer: Buffer, at: number, extensions: Extensions): Known | string | undefined {
  try {
    // Given the path, the library does not take a file for a directory whose path was cut behind a slash.
    const header = new Header(buffer, at, extensions);
    const { nullBlock, cksumValid, size, type } = header;
    if (nullBlock) return undefined;
    if (!cksumValid) return 'the checksum of a header is wrong';
    // The size of a label is blank.
    const bytes = size ?? (EMPTY.includes(type) ? 0 : undefined);
    if (bytes === undefined || !Number.isSafeInteger(bytes)) return `invalid size in header: ${bytes}`;
    // It would put the prefix of a cut path before the whole one.
    return { path: extensions.path ?? header.path ?? '', size: bytes, type };
  } catch (error) {
    return `invalid number in header (${String(error)})`;
  }
}

/** Whether bytes start with a header of a tar. */
export function isTarHeader(bytes: Uint8Array): boolean {
  if (bytes.byteLength < BLOCK) return false;
  return typeof headerAt(Buffer.from(bytes.buffer, bytes.byteOffset, BLOCK), 0, {}) === 'object';
}

/** Headers that say something of the member behind them, and what that is. */
const EXTENSIONS: Partial<Record<Header['type'], (extensions: Extensions, body: Buffer) => void>> = {
  ExtendedHeader: readPax,
  OldExtendedHeader: readPax,
  NextFileHasLongPath: readLongPath,
  OldGnuLongPath: readLongPath,
  // Of links, which are no samples, and of all members at once, for which webdataset has no use either.
  NextFileHasLongLinkpath: () => undefined,
  GlobalExtendedHeader: () => undefined,
};

/** What GNU tar says of a sparse file, in each of the three ways in which it writes them. */
const SPARSE = /^\d+ GNU\.sparse\.(\w+)=(.*)$/gm;

function readPax(extensions: Extensions, body: Buffer): void {
  const text = body.toString();
  const { path, size } = Pax.parse(text);
  if (path !== undefined) extensions.path = path;
  if (size !== undefined) extensions.size = size;
  // The library leaves out what it does not know.
  const sparse = Array.from(text.matchAll(SPARSE), ([, key, value]) => ({ key, value }));
  if (sparse.length === 0) return;
  extensions.isSparse = true;
  // The path is then one that GNU tar made up.
  const name = sparse.find(({ key }) => key === 'name')?.value;
  if (name !== undefined) extensions.path = name;
}

function readLongPath(extensions: Extensions, body: Buffer): void {
  const end = body.indexOf(0);
  extensions.path = body.toString('utf8', 0, end === -1 ? body.byteLength : end);
}

/** Members that have no content, whatever size they say. */
const EMPTY: readonly Header['type'][] = [
  'Link',
  'SymbolicLink',
  'CharacterDevice',
  'BlockDevice',
  'Directory',
  'FIFO',
  'TapeVolumeHeader',
];

function memberOf(
  { path, type, ...header }: Known,
  { isSparse = false }: Extensions,
  start: number,
  left: number,
): AtPlace {
  // Its content is not in the tar as it is, and readers that do not know that make something else of it.
  if (type === 'SparseFile' || isSparse) return damage(`${path} is a sparse file`);
  if (type === 'ContinuationFile') return damage(`${path} begins in another tar`);
  const size = EMPTY.includes(type) ? 0 : header.size;
  const end = start + padded(size);
  if (end > left)
    return damage(`${path} is cut off: ${Math.max(0, left - start)} of ${size} bytes are there`);
  const isFile = type === 'File' || type === 'OldFile' || type === 'ContiguousFile';
  return { kind: 'member', member: { path, isFile, start, size, end } };
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
