import type { HierarchyConfig, LoadedConfig, SourceConfig, TierConfig } from '@tiered/config';
import { formatBytes, isTieredError, parseBytes, TieredError } from '@tiered/core';
import { Command } from 'commander';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJsonFile, repeatable } from '../arguments.js';
import type { CommandHost } from '../host.js';
import type { Measured } from '../shared/measured-config.js';

/** `tiered config`. */
export function configCommand(host: CommandHost): Command {
  const config = new Command('config')
    .summary('Writes and checks configurations')
    .description('Writes and checks configuration files');
  config
    .command('init')
    .argument('<file>', 'the file to write, such as tiers.yaml')
    .requiredOption('--source <place>', 'a directory, s3://bucket/prefix/, gs://... or az://...')
    .addOption(
      repeatable(
        '--tier <place:quota>',
        'a tier, such as ram:8GiB, /nvme/cache:200GiB or /nvme/cache:80%, fastest first; may be repeated',
      ),
    )
    .option(
      '--from <profile>',
      'takes the model and the numbers of requests from a profile that "tiered calibrate" made of this ' +
        'source and these tiers',
    )
    .option('--force', 'replaces the file if it exists')
    .description('Writes a configuration, ready to be edited')
    .action((file: string, options: InitOptions) => init(host, file, options));
  config
    .command('check')
    .argument('<file>', 'the configuration')
    .option('--json', 'the levels as JSON')
    .description('Reports everything that is wrong with a configuration; opens and writes nothing')
    .action((file: string, { json = false }: { json?: boolean }) => check(host, file, json));
  config
    .command('schema')
    .description('Prints the JSON Schema of configurations, for editors')
    .action(() => schema(host));
  return config;
}

interface InitOptions {
  readonly source: string;
  readonly tier: readonly string[];
  readonly from?: string;
  readonly force?: boolean;
}

/**
 * Writes a configuration. One that cannot work is not written. An existing file stays as it is, unless it is
 * to be replaced.
 */
async function init(host: CommandHost, file: string, options: InitOptions): Promise<void> {
  const { source, tier, from, force = false } = options;
  const { sourceAt, tierOf } = await import('../../dataset/locations.js');
  const { yamlOf } = await import('../shared/measured-config.js');
  const measured = from === undefined ? undefined : await measuredIn(from, file, tier.length);
  const config = {
    source: fromFile(file, await sourceAt(source)),
    tiers: tier.map((one) => fromFile(file, tierOf(one))),
    ...measured?.config,
  };
  const text = file.endsWith('.json')
    ? `${JSON.stringify(config, undefined, 2)}\n`
    : yamlOf(config, measured?.remarks ?? []);
  await assertWorks(host, file, config);
  try {
    await writeFile(file, text, { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new TieredError('TIERED_CONFIG_INVALID', `${file} is there already; --force replaces it.`, {
      cause,
    });
  }
  host.write(
    `${file} is written; "tiered doctor ${file}" looks whether all that it names is there, and "tiered config check ${file}" checks it after an edit\n`,
  );
}

/** Finds what would be found when the file is used, before there is a file that is of no use. */
async function assertWorks(host: CommandHost, file: string, config: HierarchyConfig): Promise<void> {
  try {
    await made(host, config, path.dirname(path.resolve(file)));
  } catch (cause) {
    if (!isTieredError(cause)) throw cause;
    throw new TieredError(cause.code, `${cause.message}\n${file} is not written.`, { cause });
  }
}

/** Makes everything that a configuration names, and opens nothing. */
async function made(
  host: CommandHost,
  from: string | HierarchyConfig,
  baseDirectory?: string,
): Promise<LoadedConfig> {
  const { loadConfig } = await import('@tiered/config');
  const config = await loadConfig(from, { clock: host.clock, baseDirectory });
  // Finds what only a hierarchy can: levels that share storage, say.
  await config.makeHierarchy().close();
  return config;
}

/** The same level with its directory relative to the file, and not to where the command runs. */
function fromFile<Level extends SourceConfig | TierConfig>(file: string, level: Level): Level {
  const { root } = level;
  if (typeof root !== 'string' || path.isAbsolute(root)) return level;
  return { ...level, root: path.relative(path.dirname(file), root) || '.' };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for a profile of another number of tiers. */
async function measuredIn(from: string, file: string, tiers: number): Promise<Measured> {
  const { parseProfile } = await import('@tiered/simulator/calibration');
  const profile = await readJsonFile(from, 'profile', parseProfile);
  if (profile.tiers.length !== tiers) {
    const names = profile.tiers.map(({ name }) => name).join(', ') || 'none';
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `--from: ${from} was measured with other tiers than these ${tiers}: ${names}. Give --tier for each, in this order, or measure again.`,
    );
  }
  const { measuredBy } = await import('../shared/measured-config.js');
  return measuredBy(profile, path.relative(path.dirname(file), from));
}

/** Says everything that is wrong with a configuration, else its levels. */
async function check(host: CommandHost, file: string, json: boolean): Promise<void> {
  const config = await made(host, file);
  const { source, tiers = [] } = config.hierarchy;
  const levels = [
    ...tiers.map(({ driver, quota }, level) => ({
      level,
      driver: driver.name,
      quotaBytes: parseBytes(quota),
      // Of its storage, if the quota is a share.
      quotaPercent: config.shares[level],
    })),
    { level: tiers.length, driver: source.name },
  ];
  if (json) host.write(`${JSON.stringify({ file, levels }, undefined, 2)}\n`);
  else {
    const lines = levels.map((level) => {
      if (!('quotaBytes' in level)) return `source: ${level.driver}`;
      const share = level.quotaPercent === undefined ? '' : `${level.quotaPercent}% = `;
      return `tier ${level.level}: ${level.driver}, ${share}${formatBytes(level.quotaBytes)}`;
    });
    host.write(`${file} is a valid configuration\n${lines.join('\n')}\n`);
  }
}

/** Prints the JSON Schema. */
async function schema(host: CommandHost): Promise<void> {
  host.write(await readFile(fileURLToPath(import.meta.resolve('@tiered/config/schema.json')), 'utf8'));
}
