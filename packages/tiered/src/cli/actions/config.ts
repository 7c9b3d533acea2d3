import { loadHierarchyOptions } from '@tiered/config';
import { formatBytes, Hierarchy, parseBytes, TieredError } from '@tiered/core';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { sourceOf, tierOf } from '../../dataset/locations.js';
import type { CommandHost } from '../host.js';

/** What `tiered config init` is told. */
export interface InitOptions {
  readonly source: string;
  readonly tier: readonly string[];
  readonly force?: boolean;
}

/** Writes a configuration. An existing file stays as it is, unless it is to be replaced. */
export async function init(host: CommandHost, file: string, options: InitOptions): Promise<void> {
  const { source, tier, force = false } = options;
  const config = { source: sourceOf(source), tiers: tier.map(tierOf) };
  const text = file.endsWith('.json') ? `${JSON.stringify(config, undefined, 2)}\n` : stringify(config);
  try {
    await writeFile(file, text, { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new TieredError('TIERED_CONFIG_INVALID', `${file} is there already; --force replaces it.`, {
      cause,
    });
  }
  host.write(`${file} is written; "tiered config check ${file}" checks it after an edit\n`);
}

/** Makes everything that a configuration names, and opens nothing. */
export async function check(host: CommandHost, file: string, json: boolean): Promise<void> {
  const options = await loadHierarchyOptions(file, { clock: host.clock });
  // Finds what only a hierarchy can: levels that share storage, say.
  await new Hierarchy(options).close();
  const { source, tiers = [] } = options;
  const levels = [
    ...tiers.map(({ driver, quota }, level) => ({
      level,
      driver: driver.name,
      quotaBytes: parseBytes(quota),
    })),
    { level: tiers.length, driver: source.name },
  ];
  if (json) host.write(`${JSON.stringify({ file, levels }, undefined, 2)}\n`);
  else {
    const lines = levels.map((level) =>
      'quotaBytes' in level
        ? `tier ${level.level}: ${level.driver}, ${formatBytes(level.quotaBytes)}`
        : `source: ${level.driver}`,
    );
    host.write(`${file} is a valid configuration\n${lines.join('\n')}\n`);
  }
}

/** Prints the JSON Schema. */
export async function schema(host: CommandHost): Promise<void> {
  host.write(await readFile(fileURLToPath(import.meta.resolve('@tiered/config/schema.json')), 'utf8'));
}
