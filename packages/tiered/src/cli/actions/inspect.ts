import { formatBytes, TieredError, type Hierarchy } from '@tiered/core';
import { formerIdentityOf, identityOf, loadManifest } from '@tiered/core/internal';
import type { SurveyedCopy } from '@tiered/tiering/survey';
import { stat } from 'node:fs/promises';
import type { CommandHost } from '../host.js';
import type { PlanOptions, TrainingOptions } from '../training.js';
import { keysIn, lookAtTiers, openSource, type TierLook } from './look.js';
import { planOf, tiersOf } from './plan.js';
import { nextAccesses, samplerOf } from './training.js';
import { countOf, percentOf } from './words.js';
import { levelsIn } from './levels-in.js';

/** Accesses that are told of an object. */
const MOST_ACCESSES = 3;

/** What `tiered inspect key` is told. */
export interface InspectKeyOptions extends TrainingOptions {
  readonly from: number;
  readonly json?: boolean;
}

/** Says where an object is, and when a training reads it next. */
export async function inspectKey(
  host: CommandHost,
  file: string,
  key: string,
  { from, json = false, ...training }: InspectKeyOptions,
): Promise<void> {
  const options = await levelsIn(host, file);
  await using source = await openSource(host, options);
  const object = await source.stat(key);
  await using looks = await lookAtTiers(options);
  const dataset = identityOf(options.source);
  const tiers = await Promise.all(
    looks.tiers.map(async (look) => ({
      level: look.level,
      driver: look.driver.name,
      ...(look.absent !== undefined && { absent: look.absent }),
      copies: (await copiesOf(look, key, dataset)).map((copy) => ({
        copy,
        isCurrent:
          copy.size === object.size && (options.versions === 'ignore' || copy.version === object.version),
      })),
    })),
  );
  const accesses = training.seed === undefined ? undefined : await accessesOf(source, key, from, training);
  const { size, version } = object;
  const found = { key, size, version, source: options.source.name, tiers, accesses };
  host.write(json ? `${JSON.stringify(found, undefined, 2)}\n` : textOf(found, training));
}

async function copiesOf({ survey }: TierLook, key: string, dataset: string): Promise<SurveyedCopy[]> {
  return ((await survey?.find(key)) ?? []).filter((copy) => copy.dataset === dataset);
}

async function accessesOf(source: Hierarchy, key: string, from: number, training: TrainingOptions) {
  const keys = await keysIn(source, () => true);
  const sampler = samplerOf(keys.length, training);
  const next = nextAccesses(sampler, training.worker, keys.indexOf(key), { from, most: MOST_ACCESSES });
  return { epochLength: sampler.epochLength(training.worker), next };
}

/** A copy, and whether it is of the version that the source has. */
interface Inspected {
  readonly copy: SurveyedCopy;
  readonly isCurrent: boolean;
}

function textOf(
  found: {
    readonly key: string;
    readonly size: number;
    readonly version: string;
    readonly source: string;
    readonly tiers: readonly {
      readonly level: number;
      readonly driver: string;
      readonly absent?: string;
      readonly copies: readonly Inspected[];
    }[];
    readonly accesses: Awaited<ReturnType<typeof accessesOf>> | undefined;
  },
  { worker }: TrainingOptions,
): string {
  const { key, size, version, source, tiers, accesses } = found;
  const lines = [key, `  source, ${source}: ${countOf(size, 'byte')}, version ${version}`];
  for (const { level, driver, absent, copies } of tiers) {
    const texts = copies.length === 0 ? [absent ?? 'no copy'] : copies.map(copyText);
    lines.push(...texts.map((text) => `  tier ${level}, ${driver}: ${text}`));
  }
  if (accesses !== undefined) {
    const { epochLength, next } = accesses;
    const at = next.map(
      ({ epoch, position }) =>
        `epoch ${epoch}, position ${position.toLocaleString('en')} of ${epochLength.toLocaleString('en')}`,
    );
    lines.push(`  next accesses of worker ${worker}: ${at.join('; ') || 'none'}`);
  }
  return `${lines.join('\n')}\n`;
}

function copyText({ copy, isCurrent }: Inspected): string {
  const { bytes, size, version, chunks = 0, chunkBytes = 0, file, offset, isPacked } = copy;
  if (size === undefined) return `a copy whose record is damaged, in ${file}`;
  const part =
    bytes === size ? 'a whole copy' : `the first ${countOf(bytes, 'byte')} of ${size.toLocaleString('en')}`;
  const state = isCurrent ? 'current' : `of another version (${version})`;
  const sums = `${countOf(chunks, 'chunk')} of ${formatBytes(chunkBytes)}`;
  return `${part}, ${state}, ${sums}, in ${file}${isPacked ? ` at byte ${offset.toLocaleString('en')}` : ''}`;
}

/** What `tiered inspect plan` is told. */
export interface InspectPlanOptions extends PlanOptions {
  readonly keys?: boolean;
  readonly json?: boolean;
}

/** Says what a worker should keep on which level, by how often it reads each object. */
export async function inspectPlan(
  host: CommandHost,
  file: string,
  { keys: listsKeys = false, json = false, ...training }: InspectPlanOptions,
): Promise<void> {
  const options = await levelsIn(host, file, { model: true });
  await using source = await openSource(host, options);
  const { tiers = [] } = options;
  const planned = tiersOf(options);
  const { levels, left, leftBytes, unread } = await planOf(
    host,
    source,
    { ...options, tiers: planned },
    training,
  );
  if (listsKeys) {
    for (const key of levels.flat()) host.write(`${key}\n`);
    return;
  }
  const { namespace } = source;
  const sums = levels.map((keys, level) => ({
    level,
    driver: tiers[level]?.driver.name ?? '',
    objects: keys.length,
    bytes: keys.reduce((sum, key) => sum + namespace.sizeOf(namespace.find(key)), 0),
    quotaBytes: planned[level]?.quotaBytes ?? 0,
  }));
  if (json) {
    host.write(`${JSON.stringify({ tiers: sums, left, leftBytes, unread }, undefined, 2)}\n`);
    return;
  }
  const lines = sums.map(
    ({ level, driver, objects: known, bytes, quotaBytes }) =>
      `tier ${level}, ${driver}: ${countOf(known, 'object')}, ${formatBytes(bytes)} (${percentOf(bytes, quotaBytes)} of the quota)`,
  );
  lines.push(`source: ${countOf(left, 'object')}, ${formatBytes(leftBytes)}`);
  if (unread > 0) lines.push(`never read by worker ${training.worker}: ${countOf(unread, 'object')}`);
  host.write(`${lines.join('\n')}\n`);
}

/** Says what the manifest of a configuration holds, and how old it is. */
export async function inspectManifest(host: CommandHost, file: string, json: boolean): Promise<void> {
  const options = await levelsIn(host, file);
  const { manifest } = options;
  if (manifest === undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `${file}: expected the field manifest, which names the file`,
    );
  const saved = await stat(manifest).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw new TieredError('TIERED_NOT_FOUND', `There is no ${manifest} yet; the first opening writes it.`, {
      cause,
    });
  });
  await options.source.open({});
  try {
    const { known, bytes } = await loadManifest(manifest, 0, {
      identity: identityOf(options.source),
      formerly: formerIdentityOf(options.source),
    });
    const found = {
      manifest,
      source: options.source.name,
      objects: known,
      bytes,
      fileBytes: saved.size,
      saved: saved.mtime.toISOString(),
    };
    host.write(
      json
        ? `${JSON.stringify(found, undefined, 2)}\n`
        : `${manifest}: ${countOf(known, 'object')}, ${formatBytes(bytes)}, of ${found.source}\n` +
            `saved ${found.saved}, ${formatBytes(saved.size)}, with the right checksums\n`,
    );
  } finally {
    await options.source.close();
  }
}
