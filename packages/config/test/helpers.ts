import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadHierarchy, type HierarchyConfig, type LoadOptions } from '@tiered/config';
import { isTieredError } from '@tiered/core';
import { expect, onTestFinished } from 'vitest';

/** The path of a driver of these tests, to be named in a configuration. */
export const driverPath = (name: string) => fileURLToPath(new URL(`./drivers/${name}.ts`, import.meta.url));

/** A configuration with mistakes may be anything. */
type Given = string | URL | HierarchyConfig | Readonly<Record<string, unknown>>;

/** One thing that is wrong, as a message tells it. */
interface Told {
  /** Line and column. */
  readonly at: string | undefined;
  readonly field: string | undefined;
  readonly text: string;
}

/** The error of a configuration that is refused. */
export async function refusalOf(config: Given, options: LoadOptions = {}): Promise<Error> {
  try {
    await loadHierarchy(config as HierarchyConfig, options);
  } catch (error) {
    if (isTieredError(error, 'TIERED_CONFIG_INVALID')) return error;
    throw error;
  }
  return expect.fail('the configuration was not refused');
}

/** Everything that is wrong with a configuration, in the order of the message. */
export async function problemsOf(config: Given, options: LoadOptions = {}): Promise<Told[]> {
  const { message } = await refusalOf(config, options);
  const [first = '', ...others] = message.split('\n');
  const name = typeof config === 'string' ? config : '';
  const lines =
    others.length > 0 ? others : [first.startsWith(`${name}:`) ? first.slice(name.length + 1) : first];
  return lines.map((line) => {
    const [, at, field, text = ''] = /^\s*(?:(\d+:\d+): )?(?:([^\s:]+): )?(.*)$/.exec(line) ?? [];
    return { at, field, text };
  });
}

/** The fields that are wrong. */
export async function fieldsOf(config: Given, options: LoadOptions = {}): Promise<(string | undefined)[]> {
  return (await problemsOf(config, options)).map(({ field }) => field);
}

/** A new directory with these files, which goes when the test ends. */
export async function directoryWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await fs.mkdir(path.dirname(path.join(directory, name)), { recursive: true });
    await fs.writeFile(path.join(directory, name), content);
  }
  return directory;
}

/** The path of a new configuration file. */
export async function fileWith(content: string | Uint8Array, name = 'tiers.yaml'): Promise<string> {
  return path.join(await directoryWith({ [name]: content }), name);
}
