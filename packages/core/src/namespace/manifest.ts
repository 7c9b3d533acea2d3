import fs from 'node:fs';
import os from 'node:os';
import { loadChecksum } from '../support/checksum.js';
import type { OperationOptions } from '../driver/driver.js';
import { configError, isTieredError, TieredError, type ErrorCode } from '../support/errors.js';
import { MetadataContainer } from './metadata-container.js';
import { isIdentityAt } from '../driver/identity.js';
import { blankImage, sectionBytes, sectionsOf, type NamespaceImage } from './image.js';
import {
  announcedBytes,
  decodeHeader,
  encodeHeader,
  FORMAT,
  headerBytes,
  LONGEST_IDENTITY,
  PREAMBLE_BYTES,
  type ManifestHeader,
} from './manifest-header.js';
import { canHold } from './record-arena.js';

/** Options of `saveManifest` and `loadManifest`. */
export interface ManifestOptions extends OperationOptions {
  /**
   * Identifies the source of the namespace: equal for the same source, different for any other. At most 4,096
   * bytes.
   */
  readonly identity: string;
}

/** Options of `loadManifest`. */
export interface LoadOptions extends ManifestOptions {
  /** The place of the source, see `addressOf`. */
  readonly place?: string | undefined;
  /** A former identity of the source. A manifest with that identity is loaded too. */
  readonly formerly?: string | undefined;
}

/**
 * Writes a namespace to a file, from which `loadManifest` restores it without a listing. The file holds the
 * namespace as of the call. It does not include entries that are put while it is being written.
 *
 * The file is written beside `path`, under the name `path.new`, and then renamed. So whenever the process
 * dies, `path` is the complete old manifest or the complete new one. The next writer removes leftovers of a
 * dead one. Of two concurrent saves to one path, one wins and the other fails. The file is not synced to the
 * disk. A power cut may damage it, which `loadManifest` detects. Only its owner can read it, because the
 * names of a source are as private as its data. The directory is the caller's, and stays unchanged.
 *
 * Cost: one pass over all entries, in sections of at most 1 MiB, between which other work gets its turn. No
 * memory.
 * @throws TieredError `TIERED_UNAVAILABLE` if another save is in progress; `TIERED_NO_SPACE`,
 * `TIERED_PERMISSION`, `TIERED_READ_ONLY`, `TIERED_NOT_FOUND` (no such directory), `TIERED_IO`;
 * `TIERED_CONFIG_INVALID` for an invalid identity; `TIERED_UNSUPPORTED` on a big-endian machine. Abort
 * rejects with `signal.reason`. The old manifest is untouched in all these cases.
 */
export async function saveManifest(
  container: MetadataContainer,
  path: string,
  { identity, signal }: ManifestOptions,
): Promise<void> {
  assertUsable(identity);
  signal?.throwIfAborted();
  const image = container.image();
  const temporary = `${path}.new`;
  try {
    await fs.promises.rm(temporary, { force: true });
    const file = await fs.promises.open(temporary, 'wx', 0o600);
    try {
      await write(file, image, identity, signal);
      if (!(await isAt(file, temporary))) throw tookOver(path);
      await fs.promises.rename(temporary, path);
    } catch (error) {
      if (await isAt(file, temporary)) await fs.promises.rm(temporary, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fromFs(error, path, 'saved');
  }
}

/**
 * Restores a namespace from the file that `saveManifest` wrote. Every object is at the source's level.
 *
 * Cost: one pass over the file in sections of at most 1 MiB, and one over the entries in parts. Between them
 * other work gets its turn. It uses the memory of the namespace, and no more.
 * @param path The manifest.
 * @param sourceLevel As the constructor of `MetadataContainer` takes it.
 * @throws TieredError `TIERED_NOT_FOUND` if there is no file; `TIERED_DATA_CORRUPT` if it is damaged,
 * truncated or not a manifest; `TIERED_SOURCE_CHANGED` if it describes former data at the place of the
 * source; `TIERED_CONFIG_INVALID` if it is of another source or of another format; `TIERED_PERMISSION`,
 * `TIERED_IO`; `TIERED_UNSUPPORTED` on a big-endian machine. Abort rejects with `signal.reason`. In all these
 * cases the source can be listed instead.
 */
export async function loadManifest(
  path: string,
  sourceLevel: number,
  { identity, place, formerly, signal }: LoadOptions,
): Promise<MetadataContainer> {
  assertUsable(identity);
  signal?.throwIfAborted();
  try {
    // Without O_NONBLOCK, opening a pipe of that name would block.
    const file = await fs.promises.open(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      const image = await read(file, path, { identity, place, formerly, signal });
      return await MetadataContainer.restore(image, sourceLevel, signal);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isTieredError(error, 'TIERED_DATA_CORRUPT')) throw damaged(path, error);
    throw fromFs(error, path, 'loaded');
  }
}

type FileHandle = fs.promises.FileHandle;

/** Writes the header last, so that the file is no manifest before it is complete. */
async function write(
  file: FileHandle,
  image: NamespaceImage,
  identity: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const checksum = await loadChecksum();
  const sections = sectionsOf(image);
  const checksums: bigint[] = [];
  let at = headerBytes(identity, sections.length);
  for (const section of sections) {
    signal?.throwIfAborted();
    checksums.push(checksum.bytes(section));
    await writeAt(file, section, at);
    at += section.byteLength;
  }
  signal?.throwIfAborted();
  const { count, recordBytes } = image;
  await writeAt(file, encodeHeader({ count, recordBytes, identity, checksums }, checksum), 0);
}

async function read(
  file: FileHandle,
  path: string,
  { identity, place, formerly, signal }: LoadOptions,
): Promise<NamespaceImage> {
  const checksum = await loadChecksum();
  const stat = await file.stat();
  if (!stat.isFile()) throw corrupt('it is no file');
  const { header, end } = await readHeader(file, path);
  if (header.identity !== identity && header.identity !== formerly) {
    const wasHere = place !== undefined && isIdentityAt(place, header.identity);
    throw ofAnother(path, 'source', header.identity, identity, wasHere ? 'TIERED_SOURCE_CHANGED' : undefined);
  }
  // Checked before any memory is allocated: the file must have the length that its header implies.
  if (!canHold(header.recordBytes, header.count) || end + sectionBytes(header) !== stat.size)
    throw corrupt('its length does not fit');
  const image = blankImage(header.count, header.recordBytes);
  const sections = sectionsOf(image);
  if (sections.length !== header.checksums.length) throw corrupt('its sections do not fit');
  let at = end;
  for (const [i, section] of sections.entries()) {
    signal?.throwIfAborted();
    await readAt(file, section, at);
    if (checksum.bytes(section) !== header.checksums[i])
      throw corrupt(`the checksum of section ${i} is wrong`);
    at += section.byteLength;
  }
  return image;
}

async function readHeader(file: FileHandle, path: string): Promise<{ header: ManifestHeader; end: number }> {
  const preamble = Buffer.alloc(PREAMBLE_BYTES);
  await readAt(file, preamble, 0);
  const end = announcedBytes(preamble);
  if (end === undefined) throw corrupt('it does not begin as one');
  const bytes = Buffer.alloc(end);
  await readAt(file, bytes, 0);
  const header = decodeHeader(bytes, await loadChecksum());
  if (header === undefined) throw corrupt('its header is wrong');
  if (!('identity' in header)) throw ofAnother(path, 'format', header.format, FORMAT);
  return { header, end };
}

/** Whether this open file is the one at that path. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const there = await fs.promises.stat(path, { bigint: true }).catch(() => undefined);
  const { dev, ino } = await file.stat({ bigint: true });
  return there?.dev === dev && there.ino === ino;
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function readAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const { bytesRead } = await file.read(bytes, done, bytes.byteLength - done, position + done);
    if (bytesRead === 0) throw corrupt('it is cut short');
    done += bytesRead;
  }
}

function assertUsable(identity: string): void {
  const isName = typeof identity === 'string' && identity !== '' && identity.isWellFormed();
  if (!isName || Buffer.byteLength(identity) > LONGEST_IDENTITY)
    throw configError('identity', `a name of the source, of at most ${LONGEST_IDENTITY} bytes`, identity);
  if (os.endianness() === 'LE') return;
  throw new TieredError(
    'TIERED_UNSUPPORTED',
    'Manifests are little endian and this machine is not: list the source at every start.',
  );
}

const ADVICE = 'Delete it: the next start lists the source.';

function corrupt(what: string): TieredError {
  return new TieredError('TIERED_DATA_CORRUPT', what);
}

function damaged(path: string, error: TieredError): TieredError {
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `${path} is no manifest, or a damaged one: ${error.message}. ${ADVICE}`,
    { cause: error },
  );
}

function ofAnother(
  path: string,
  what: string,
  found: string | number,
  expected: string | number,
  code: ErrorCode = 'TIERED_CONFIG_INVALID',
): TieredError {
  return new TieredError(
    code,
    `${path} is a manifest of another ${what}, ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}. ${ADVICE}`,
  );
}

function tookOver(path: string): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${path} was not saved, because another save of it has begun since; give each hierarchy a manifest of its own.`,
  );
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'TIERED_NOT_FOUND',
  EEXIST: 'TIERED_UNAVAILABLE',
  EACCES: 'TIERED_PERMISSION',
  EPERM: 'TIERED_PERMISSION',
  EROFS: 'TIERED_READ_ONLY',
  ENOSPC: 'TIERED_NO_SPACE',
  EDQUOT: 'TIERED_NO_SPACE',
};

/** Translates an error of `node:fs`. Other errors pass unchanged. */
function fromFs(error: unknown, path: string, done: string): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === undefined || code === undefined) return error;
  const missing = done === 'saved' ? 'there is no such directory' : 'there is no such file';
  const reason = code === 'ENOENT' ? missing : `the system says ${code}`;
  return new TieredError(CODES[code] ?? 'TIERED_IO', `${path} could not be ${done}: ${reason}.`, {
    cause: error,
  });
}
