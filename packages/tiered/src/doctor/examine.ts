import { TieredError } from '@tiered/core';
import type { ExaminedLevel } from '../configuration/levels.js';
import type { Environment } from '../configuration/written.js';
import { lookAt, type DirectoryFacts } from './directory.js';
import { serverOf, skewOf, type Skew } from './server.js';
import { askBucket, askSource, type Asked } from './storage.js';
import { within, type Patience } from '../within.js';

/** What was found of a level. */
export interface Examined {
  readonly level: ExaminedLevel;
  /** Of a level in a file system. */
  readonly directory?: DirectoryFacts | { readonly error: unknown };
  /** Of the source, and of buckets. */
  readonly asked?: Asked;
  /** Of a level whose server has a clock. */
  readonly skew?: Skew;
}

/** The part of the time that counting a tier's copies may take. */
const COUNTING = 0.5;

/** Finds out about a level. Nothing is written to it, and tiers in directories are not opened. */
export async function examine(level: ExaminedLevel, patience: Patience, env: Environment): Promise<Examined> {
  const server = serverOf(level, env);
  const directory = await lookedAt(level, patience);
  const asked = await ask(level, directory, patience);
  return {
    level,
    ...(directory !== undefined && { directory }),
    ...(asked !== undefined && { asked }),
    ...(server !== undefined && { skew: await skewOf(server, patience) }),
  };
}

async function lookedAt({ directory }: ExaminedLevel, patience: Patience): Promise<Examined['directory']> {
  if (directory === undefined) return undefined;
  const timeoutMs = COUNTING * patience.timeoutMs;
  return within(patience, (signal) => lookAt(directory, { ...patience, timeoutMs, signal })).catch(
    (error: unknown) => ({ error }),
  );
}

async function ask(
  level: ExaminedLevel,
  directory: Examined['directory'],
  patience: Patience,
): Promise<Asked | undefined> {
  const isTier = level.quotaBytes !== undefined;
  if (isTier && (directory !== undefined || !isHarmlessToOpen(level))) return undefined;
  if (directory !== undefined && 'state' in directory && directory.state === 'missing')
    return { error: gone(level) };
  try {
    return { answers: await (isTier ? askBucket : askSource)(level.driver, patience) };
  } catch (error) {
    return { error };
  }
}

/** Whether opening it writes nothing, which is known of these drivers only. */
function isHarmlessToOpen({ fields }: ExaminedLevel): boolean {
  return ['s3', 'opendal', 'redis'].includes(String(fields['driver']));
}

/** Some drivers make a directory that is missing. */
function gone({ driver }: ExaminedLevel): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    'there is no such directory; check the path, and that it is mounted',
    {
      driver: driver.name,
    },
  );
}
