import { existingAt } from '@tiered/core/internal';
import { access, constants, mkdir, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isRam, type ExaminedLevel } from '../configuration/levels.js';
import type { Mapping } from '../configuration/written.js';

/** A tier of its own for measuring, on the storage that a tier of the configuration is on. */
export interface Twin {
  readonly level: ExaminedLevel;
  /** As in a configuration: that of the tier, but for place and quota. */
  readonly fields: Mapping;
  readonly quotaBytes: number;
  /** A directory beside the tier's, for other files; undefined for memory. */
  readonly scratch: string | undefined;
}

/** Twins of the tiers that can have one. */
export interface Twins extends AsyncDisposable {
  readonly made: readonly Twin[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/** The part of what is free that a twin may take: others go on working. */
const PART_OF_FREE = 0.25;
const PRIVATE_DIRECTORY = '.tiered';

/**
 * Makes a twin of each tier: what is on the tiers themselves may be of use to a training at this moment. They
 * are gone with `Symbol.asyncDispose`.
 * @param tiers Of the configuration.
 * @param written Their mappings, as they are written.
 * @param room Bytes that each may take at most, and needs at least.
 */
export async function twinsOf(
  tiers: readonly ExaminedLevel[],
  written: readonly Mapping[],
  room: Room,
): Promise<Twins> {
  const made: Twin[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  const dispose = async () => {
    for (const { scratch } of made)
      if (scratch !== undefined) await rm(path.dirname(scratch), { recursive: true, force: true });
  };
  try {
    for (const [i, level] of tiers.entries()) {
      const twin = await twinOf(level, written[i] ?? {}, room);
      if (typeof twin === 'string') leftOut.push({ name: level.name, reason: twin });
      else made.push(twin);
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { made, leftOut, [Symbol.asyncDispose]: dispose };
}

interface Room {
  readonly most: number;
  readonly least: number;
}

const TOO_SMALL = 'its quota, --bytes or what is free has no room for two objects of the source';

/** A twin, or why there can be none. */
async function twinOf(level: ExaminedLevel, fields: Mapping, { most, least }: Room): Promise<Twin | string> {
  const { quotaBytes: quota = 0 } = level;
  if (isRam(level)) {
    const quotaBytes = Math.floor(Math.min(quota, most, PART_OF_FREE * os.freemem()));
    if (quotaBytes < least) return TOO_SMALL;
    return { level, fields: { ...fields, quota: quotaBytes }, quotaBytes, scratch: undefined };
  }
  if (level.fields['driver'] !== 'fs' || level.directory === undefined)
    return 'only tiers in memory and in directories (driver: fs) are measured without being touched; "tiered calibrate" measures others';
  const place = await placeBeside(level.directory);
  if (place === undefined) return 'there is no place beside it that may be written to';
  const { bavail, bsize } = await statfs(place);
  const quotaBytes = Math.floor(Math.min(quota, most, PART_OF_FREE * bavail * bsize));
  if (quotaBytes < least) return TOO_SMALL;
  const directory = await mkdtemp(path.join(place, '.tiered-bench-'));
  const [root, scratch] = [path.join(directory, 'tier'), path.join(directory, 'files')];
  await mkdir(scratch);
  return { level, fields: { ...fields, root, quota: quotaBytes }, quotaBytes, scratch };
}

/**
 * A directory on the same file system that may be written to: beside the tier's own; below what is there, if
 * the tier is not there yet; in the private part of a tier that is a mount of its own.
 */
async function placeBeside(directory: string): Promise<string | undefined> {
  const found = await stat(directory).catch(() => undefined);
  const above = path.dirname(directory);
  if (found === undefined) {
    const existing = await existingAt(above).catch(() => directory);
    const isDirectory = (await stat(existing).catch(() => undefined))?.isDirectory() === true;
    return isDirectory && (await isWritable(existing)) ? existing : undefined;
  }
  const outside = await stat(above);
  if (outside.dev === found.dev && (await isWritable(above))) return above;
  const entries = await readdir(directory);
  const isOwn = entries.includes(PRIVATE_DIRECTORY);
  if (!isOwn && entries.length > 0) return undefined;
  const inside = isOwn ? path.join(directory, PRIVATE_DIRECTORY) : directory;
  return (await isWritable(inside)) ? inside : undefined;
}

function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
