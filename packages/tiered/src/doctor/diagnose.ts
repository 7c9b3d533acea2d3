import type { HierarchyConfig, LoadedConfig } from '@tiered/config';
import { parseBytes, type ByteSize, type Clock, type OperationOptions } from '@tiered/core';
import { isRam, levelsOf, type ExaminedLevel } from '../configuration/levels.js';
import { readConfiguration, type Environment, type Written } from '../configuration/written.js';
import { countOf } from '../words.js';
import { dataFits, layoutSuits } from './data.js';
import { examine, type Examined } from './examine.js';
import { findingsOn, type Finding } from './finding.js';
import {
  coresSuffice,
  descriptorsSuffice,
  lookAtMachine,
  memorySuffices,
  nodeWorks,
  threadsSuffice,
  type MachineFacts,
} from './machine.js';
import { lookAtPrograms, programsFindTiers, type ProgramFacts } from './programs.js';
import { ofEnvironment, ofHidden, ofVariables, Scrubber } from './scrub.js';
import { clocksAgree, credentialsAreSet } from './server.js';
import { bucketAnswers, failed, notLookedAt, sourceAnswers } from './storage.js';
import {
  directoryCanBeTier,
  fileSystemSuits,
  nearerThanSource,
  quotasFit,
  type FoundTier,
} from './tier-directories.js';
import { tierWorks } from './trial-tier.js';

/** Options of `diagnose`. */
export interface DiagnoseOptions extends OperationOptions {
  readonly clock: Clock;
  readonly env: Environment;
  /** Milliseconds that each thing may take which is asked. */
  readonly timeoutMs: number;
  /** Looks for the shim, whose package may be missing. */
  readonly shim: () => Promise<ProgramFacts['shim']>;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What was found. */
export interface Diagnosis {
  /**
   * By what they are about, in the order of the levels. Without secrets, but for mistakes in the
   * configuration, which show the values that are wrong.
   */
  readonly findings: readonly Finding[];
  /** Whether the configuration is one. */
  readonly canWork: boolean;
  readonly machine: MachineFacts;
  /** Undefined if the file cannot be read. */
  readonly written: Written | undefined;
  readonly examined: readonly Examined[];
  /** What removes secrets from all that is shown. */
  readonly scrubber: Scrubber;
}

/** What the prefetcher and the placement hold by default. */
const STAGING = '256MiB';
const MAX_OPEN_FILES = 256;
const REQUESTS = 64;

/**
 * Looks at a configuration, and at everything that it needs: source, tiers, clocks and the machine. The
 * source is only read, and nothing is written to tiers.
 *
 * Each storage is asked for at most `timeoutMs`. One that does not even notice an abort, as a mount that
 * hangs, is left behind: the process can end only when the mount does answer.
 * @throws The signal's reason.
 */
export async function diagnose(file: string, options: DiagnoseOptions): Promise<Diagnosis> {
  const { env, onProgress = () => undefined } = options;
  const machine = await lookAtMachine(env);
  const machineItself = [nodeWorks(machine), coresSuffice(machine)];
  const configuration = await readConfiguration(file, options);
  const { written } = configuration;
  if ('wrong' in configuration) {
    const scrubber = scrubberOf(written, [], env);
    // As "config check" says it: who may read the file may see what is in it.
    const wrong = configurationThatIsWrong(configuration.wrong);
    const findings = [...wrong, ...machineItself];
    return { findings, canWork: false, machine, written, examined: [], scrubber };
  }
  const levels = levelsOf(configuration.config.hierarchy, configuration.written);
  const steps = levels.length + 1;
  const examined: Examined[] = [];
  for (const level of levels) {
    examined.push(await examine(level, options, env));
    onProgress(examined.length, steps);
  }
  const trial = await tierWorks(levels, options);
  onProgress(steps, steps);
  options.signal?.throwIfAborted();

  const scrubber = scrubberOf(configuration.written, levels, env);
  const findings = [
    ...configurationThatWorks(levels, configuration.written.variables),
    ...examined.flatMap((found) => onLevel(found, env)),
    ...onTiersTogether(examined),
    ...onData(examined),
    ...machineItself,
    ...programsFindTiers(await lookAtPrograms(await options.shim()), machine),
    ...onMachine(examined, configuration, machine),
    ...trial,
  ];
  const order = ['configuration', ...levels.map(({ name }) => name), 'tiers', 'machine'];
  return {
    findings: scrubber.all(findings.sort((a, b) => order.indexOf(a.about) - order.indexOf(b.about))),
    canWork: true,
    machine,
    written: configuration.written,
    examined,
    scrubber,
  };
}

/** What a configuration is that can work. */
function configurationThatWorks(
  levels: readonly ExaminedLevel[],
  variables: readonly { readonly name: string }[],
): Finding[] {
  const { ok } = findingsOn('configuration');
  const tiers = levels.length - 1;
  const names = [...new Set(variables.map(({ name }) => name))];
  return [
    ok(`a source and ${tiers === 0 ? 'no tiers' : countOf(tiers, 'tier')}`),
    ...(names.length === 0
      ? []
      : [ok(`all environment variables that it needs are set: ${names.join(', ')}`)]),
  ];
}

/**
 * Everything that is wrong with a configuration.
 * @param message Of the error that it was refused with: a line, or a line for each mistake after a first one
 * that counts them.
 */
export function configurationThatIsWrong(message: string): Finding[] {
  const { problem } = findingsOn('configuration');
  const [first = '', ...others] = message.split('\n');
  const mistakes = others.length === 0 ? [first] : others.map((line) => line.trim());
  return mistakes.map((mistake) =>
    / environment variable \S+ is not set/.test(mistake)
      ? problem(mistake, 'Set it where the training is started, and where this command is.')
      : problem(mistake),
  );
}

/** Directories that are written differently are shown as they are written. */
function scrubberOf(
  written: Written | undefined,
  levels: readonly ExaminedLevel[],
  env: Environment,
): Scrubber {
  const directories = levels.flatMap(({ directory, place }) =>
    directory === undefined || place === directory ? [] : [{ text: directory, by: place }],
  );
  return new Scrubber([
    ...ofVariables(written?.variables ?? []),
    ...directories,
    ...ofHidden(written?.hidden ?? []),
    ...ofEnvironment(env),
  ]);
}

function onLevel({ level, directory, asked, skew }: Examined, env: Environment): Finding[] {
  const isSource = level.quotaBytes === undefined;
  const found: Finding[] = [];
  if (asked !== undefined) found.push(...(isSource ? sourceAnswers : bucketAnswers)(level, asked));
  else if (directory !== undefined && 'error' in directory) found.push(failed(level, directory.error));
  else if (directory === undefined && !isRam(level)) found.push(notLookedAt(level));
  found.push(...credentialsAreSet(level, env));
  if (skew !== undefined) found.push(clocksAgree(level.name, skew));
  return found;
}

function onTiersTogether(examined: readonly Examined[]): Finding[] {
  const [source] = examined;
  const { directory } = source ?? {};
  const tiers = directoriesOf(examined);
  return [
    ...tiers.flatMap((tier) => [directoryCanBeTier(tier), ...fileSystemSuits(tier)]),
    ...quotasFit(tiers),
    ...nearerThanSource(tiers, directory !== undefined && 'device' in directory ? directory : undefined),
  ];
}

/** What is known of the data against the tiers. */
function onData([source, ...tiers]: readonly Examined[]): Finding[] {
  const data =
    source?.asked !== undefined && 'answers' in source.asked ? source.asked.answers.data : undefined;
  if (data === undefined) return [];
  const levels = tiers.map(({ level }) => level);
  return [...layoutSuits(data, levels), ...dataFits(data, levels)];
}

function directoriesOf(examined: readonly Examined[]): FoundTier[] {
  return examined.flatMap(({ level: { name, place, quotaBytes }, directory }) =>
    quotaBytes === undefined || directory === undefined || 'error' in directory
      ? []
      : [{ name, place, quotaBytes, facts: directory }],
  );
}

function onMachine(
  examined: readonly Examined[],
  { config: { prefetcher }, written }: { readonly config: LoadedConfig; readonly written: Written },
  machine: MachineFacts,
): Finding[] {
  const levels = examined.map(({ level }) => level);
  const { placement } = written.expanded as HierarchyConfig;
  const inMemory = examined.flatMap(({ level, directory }) => {
    const isTmpfs =
      directory !== undefined && 'fileSystem' in directory && directory.fileSystem.kind === 'memory';
    const { name, quotaBytes } = level;
    return quotaBytes !== undefined && (isRam(level) || isTmpfs) ? [[name, quotaBytes] as const] : [];
  });
  const memory = new Map([
    ...inMemory,
    ['prefetcher', memoryOf(prefetcher.memory)],
    ...(levels.length > 1 ? [['placement', memoryOf(placement?.['memory'])] as const] : []),
  ]);
  const descriptors = new Map(levels.map((level) => [level.name, descriptorsOf(level)]));
  return [
    memorySuffices(memory, machine),
    ...descriptorsSuffice(descriptors, machine),
    ...threadsSuffice(
      machine,
      levels.some(({ fields }) => fields['driver'] === 'fs'),
    ),
  ];
}

function memoryOf(memory: unknown): number {
  return parseBytes((memory as ByteSize | undefined) ?? STAGING);
}

function descriptorsOf(level: ExaminedLevel): number {
  const { maxOpenFiles = MAX_OPEN_FILES, concurrency = REQUESTS } = level.fields as Readonly<
    Record<string, number | undefined>
  >;
  if (level.directory !== undefined) return maxOpenFiles;
  return isRam(level) ? 0 : concurrency;
}
