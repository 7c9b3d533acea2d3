import { formatBytes, TieredError, type Hierarchy } from '@tiered/core';
import { formerIdentityOf, identityOf, loadManifest } from '@tiered/core/internal';
import type { Sampler } from '@tiered/prefetch/sampling';
import type { SurveyedCopy } from '@tiered/tiering/survey';
import { Command } from 'commander';
import { stat } from 'node:fs/promises';
import { countOf, percentOf } from '../../words.js';
import { wholeNumber } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { addPlanOptions, addTrainingOptions, type PlanOptions, type TrainingOptions } from '../options.js';
import type { TierLook } from '../shared/look.js';

/** `tiered inspect`. */
export function inspectCommand(host: CommandHost): Command {
  const inspect = new Command('inspect')
    .summary('Looks at an object, a plan or a manifest')
    .description('Looks at an object, a plan or a manifest; changes nothing');
  addTrainingOptions(
    inspect
      .command('key')
      .argument('<config>', 'the configuration')
      .argument('<key>', 'the object')
      .description(
        'Shows where an object is, in which version and chunks, and, from the seed, when it is read next',
      ),
  )
    .option('--from <epoch>', 'only accesses in this epoch and later ones', wholeNumber, 0)
    .option('--json', 'the result as JSON')
    .action((file: string, key: string, options: InspectKeyOptions) => inspectKey(host, file, key, options));
  addPlanOptions(
    inspect
      .command('plan')
      .argument('<config>', 'the configuration')
      .description(
        'Shows which objects a worker of a training run should keep on which tier, by how often it reads ' +
          'each',
      ),
  )
    .option('--keys', 'the keys in the order in which they are first read, tier by tier')
    .option('--json', 'the sums as JSON')
    .action((file: string, options: InspectPlanOptions) => inspectPlan(host, file, options));
  inspect
    .command('manifest')
    .argument('<config>', 'the configuration, which names the manifest')
    .option('--json', 'the result as JSON')
    .description('Shows what the manifest holds, whether it is intact, and how old it is')
    .action((file: string, { json = false }: { json?: boolean }) => inspectManifest(host, file, json));
  return inspect;
}

/** Accesses that are told of an object. */
const MOST_ACCESSES = 3;

interface InspectKeyOptions extends TrainingOptions {
  readonly from: number;
  readonly json?: boolean;
}

/** Says where an object is, and when a training reads it next. */
async function inspectKey(
  host: CommandHost,
  file: string,
  key: string,
  { from, json = false, ...training }: InspectKeyOptions,
): Promise<void> {
  const { levelsIn, lookAtTiers, openSource } = await import('../shared/look.js');
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
  const { keysIn } = await import('../shared/look.js');
  const { samplerOf } = await import('../shared/plan.js');
  const keys = await keysIn(source, () => true);
  const sampler = samplerOf(keys.length, training);
  const next = nextAccesses(sampler, training.worker, keys.indexOf(key), { from, most: MOST_ACCESSES });
  return { epochLength: sampler.epochLength(training.worker), next };
}

/** One access of a worker to an object. */
interface FoundAccess {
  readonly epoch: number;
  readonly position: number;
}

/** The next accesses of a worker to an object, one an epoch at most. */
function nextAccesses(
  sampler: Sampler,
  worker: number,
  sample: number,
  { from, most }: { readonly from: number; readonly most: number },
): FoundAccess[] {
  const found: FoundAccess[] = [];
  for (let epoch = from; epoch < sampler.epochs && found.length < most; epoch++) {
    const position = sampler.epoch(worker, epoch).indexOf(sample);
    if (position !== -1) found.push({ epoch, position });
  }
  return found;
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

interface InspectPlanOptions extends PlanOptions {
  readonly keys?: boolean;
  readonly json?: boolean;
}

/** Says what a worker should keep on which level, by how often it reads each object. */
async function inspectPlan(
  host: CommandHost,
  file: string,
  { keys: listsKeys = false, json = false, ...training }: InspectPlanOptions,
): Promise<void> {
  const { levelsIn, openSource } = await import('../shared/look.js');
  const { planOf, tiersOf } = await import('../shared/plan.js');
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
async function inspectManifest(host: CommandHost, file: string, json: boolean): Promise<void> {
  const { levelsIn } = await import('../shared/look.js');
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
