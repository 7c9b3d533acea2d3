import { systemClock } from '@tiered/core';
import type { ExaminedLevel } from '../configuration/levels.js';
import type { Environment } from '../configuration/written.js';
import { findingsOn, type Finding } from './finding.js';
import { within, type Patience } from '../within.js';

/** S3 refuses requests whose time is further off. */
const REFUSED_MS = 15 * 60_000;
/** An hour of drift away from being refused, or worse. */
const FAR_MS = 5 * 60_000;

/** How far the server's clock is ahead of this machine's; why nobody knows, where that is so. */
export type Skew = { readonly skewMs: number } | { readonly unknown: string };

/** Compares a server's clock with this machine's, to within a second or so. */
export async function skewOf(server: string, patience: Patience): Promise<Skew> {
  try {
    const before = timeOfDay();
    // Not signed: whatever it answers has the date.
    const asking = (signal: AbortSignal) => fetch(server, { method: 'HEAD', redirect: 'manual', signal });
    const { headers } = await within(patience, asking);
    const middle = (before + timeOfDay()) / 2;
    const date = Date.parse(headers.get('date') ?? '');
    // The header has whole seconds, of which half have passed on average.
    return Number.isNaN(date) ? { unknown: 'its answers have no date' } : { skewMs: date + 500 - middle };
  } catch {
    return { unknown: 'it does not answer a plain request from here' };
  }
}

/**
 * Where the server is that a level's requests are signed for. Undefined for storage that is not behind HTTP,
 * or whose server is not known.
 */
export function serverOf(
  { driver, fields }: Pick<ExaminedLevel, 'driver' | 'fields'>,
  env: Environment,
): string | undefined {
  const { driver: name, options } = fields;
  if (name === 's3') {
    const { location = '' } = driver;
    return location.startsWith('s3://') ? awsIn(regionOf(fields['region'], env)) : originOf(location);
  }
  return name === 'opendal' ? originOf((options as { endpoint?: unknown } | undefined)?.endpoint) : undefined;
}

function regionOf(region: unknown, env: Environment): string {
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

/** Whether the clocks of this machine and a server agree, which signs requests by time. */
export function clocksAgree(level: string, skew: Skew): Finding {
  const { ok, note, warning, problem } = findingsOn(level);
  if ('unknown' in skew) return note(`the clock was not compared with the server's: ${skew.unknown}`);
  const { skewMs } = skew;
  const off = Math.abs(skewMs);
  const found = `the clock of this machine is ${spanOf(off)} ${skewMs > 0 ? 'behind' : 'ahead of'} the server's`;
  const advice = 'Let the machine keep its clock (chrony, systemd-timesyncd).';
  if (off > REFUSED_MS)
    return problem(
      found,
      `${advice} Requests are signed by time, and refused when it is more than 15 minutes off; only after a refusal does the driver go by the server's clock.`,
    );
  return off > FAR_MS
    ? warning(found, `${advice} From 15 minutes on servers refuse requests.`)
    : ok("the clock of this machine agrees with the server's");
}

function spanOf(ms: number): string {
  const minutes = ms / 60_000;
  return minutes < 120 ? `${minutes.toFixed(0)} minutes` : `${(minutes / 60).toFixed(0)} hours`;
}

const [ID, SECRET] = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;

/** Where the credentials of a bucket come from. Whether they are right is for the server to say. */
export function credentialsAreSet(
  { name, fields }: Pick<ExaminedLevel, 'name' | 'fields'>,
  env: Environment,
): Finding[] {
  if (fields['driver'] !== 's3') return [];
  const { ok, note, warning } = findingsOn(name);
  if (fields['anonymous'] === true) return [ok('requests are not signed (anonymous)')];
  if (fields['profile'] !== undefined)
    return [ok('credentials come from a profile of the shared configuration')];
  const [id, secret] = [Boolean(env[ID]), Boolean(env[SECRET])];
  if (id && secret) return [ok(`credentials come from ${ID} and ${SECRET}`)];
  if (id || secret)
    return [
      warning(
        `${id ? ID : SECRET} is set, and ${id ? SECRET : ID} is not`,
        'Set both, or neither: one alone is not used.',
      ),
    ];
  return [note(`${ID} is not set: credentials come from a profile, a role or single sign-on`)];
}
