import { systemClock } from '@tiered/core';
import type { ExaminedLevel } from '../../configuration/levels.js';

/** How far a server's clock is ahead of this machine's, in milliseconds, within a second or so. */
export async function skewOf(server: string, signal: AbortSignal): Promise<number | undefined> {
  const before = timeOfDay();
  // Not signed: whatever it answers has the date.
  const { headers } = await fetch(server, { method: 'HEAD', redirect: 'manual', signal });
  const middle = (before + timeOfDay()) / 2;
  const date = Date.parse(headers.get('date') ?? '');
  // The header has whole seconds, of which half have passed on average.
  return Number.isNaN(date) ? undefined : date + 500 - middle;
}

/**
 * Where the server is that a level's requests are signed for. Undefined for storage that is not behind HTTP,
 * or whose server is not known.
 */
export function serverOf(
  { driver, fields }: Pick<ExaminedLevel, 'driver' | 'fields'>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { driver: name, options } = fields;
  if (name === 's3') {
    const { location = '' } = driver;
    return location.startsWith('s3://') ? awsIn(regionOf(fields['region'], env)) : originOf(location);
  }
  return name === 'opendal' ? originOf((options as { endpoint?: unknown } | undefined)?.endpoint) : undefined;
}

function regionOf(region: unknown, env: Readonly<Record<string, string | undefined>>): string {
  if (typeof region === 'string') return region;
  return env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1';
}

function awsIn(region: string): string | undefined {
  return originOf(`https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`);
}

function originOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text).origin;
}

/** Milliseconds since 1970, by this machine. */
function timeOfDay(): number {
  return performance.timeOrigin + systemClock.now();
}
