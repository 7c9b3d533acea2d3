import { loadConfig, type HierarchyConfig, type LoadedConfig } from '@tiered/config';
import {
  formatBytes,
  parseBytes,
  TieredError,
  type HierarchyOptions,
  type StorageDriver,
} from '@tiered/core';
import { configError } from '@tiered/core/internal';
import {
  Interposer,
  keysOf,
  MemoryDirectory,
  mergeTraces,
  readTrace,
  type ProgramWait,
} from '@tiered/interpose';
import fs from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { closeAll, type Closable } from '../../closing.js';
import { ClusterWorker } from '../../cluster/cluster-worker.js';
import { asJob, ControlStage, type SaidJob } from '../../control/control-stage.js';
import type { LogTargets } from '../../quiet-log.js';
import { sourceAt, tierOf } from '../../dataset/locations.js';
import { ListingProgress, ProgressBar } from '../../progress.js';
import { countOf } from '../../words.js';
import { warnOn, type CommandHost } from '../host.js';
import { assertNotTaken } from './daemon-at.js';
import { directoryOf } from './look.js';
import { offerMonitor } from './watched.js';

/** What is served to programs, and how. */
export interface InterposerOptions extends SaidJob {
  /** A configuration. Else there is a source, and its tiers. */
  readonly config?: string | undefined;
  readonly source?: string | undefined;
  /** Each as `tierOf` takes it. */
  readonly tier: readonly string[];
  /** Beside a source: the file that keeps the list of its objects. */
  readonly manifest?: string | undefined;
  /** The path below which programs find objects that they do not read from the source themselves. */
  readonly root?: string | undefined;
  /** A directory for links to what is read. */
  readonly farm?: string | undefined;
  readonly alias: readonly string[];
  readonly record?: string | undefined;
  /** Traces. */
  readonly replay: readonly string[];
  /** The directory of its session. */
  readonly at?: string | undefined;
  /** Whether it is said which workers of a cluster come and go. Default: true. */
  readonly notes?: boolean | undefined;
}

/** Below this, programs find the objects of a source that is no directory, if nobody says where. */
const ROOTS = '/tiered';

const PAST_THE_SHARE =
  'Programs read files without a copy from the source themselves, past the share of the job; below --root PATH they do not.';

/** A hierarchy that is served to programs. */
export interface Served extends AsyncDisposable {
  readonly interposer: Interposer;
  /** Ends everything. */
  close(): Promise<void>;
}

/**
 * Opens a hierarchy for programs, and shows what takes longer than two seconds. Tiers in memory are in a
 * directory that ends with it.
 */
export async function openServed(
  host: CommandHost,
  options: InterposerOptions,
  signal: AbortSignal,
): Promise<Served> {
  await assertUsable(options);
  const memory = await MemoryDirectory.make();
  const opening: Closable[] = [memory];
  try {
    const config = await loadConfig(await servedConfig(options), {
      clock: host.clock,
      model: false,
      memoryDirectory: memory.path,
      warn: warnOn(host),
    });
    await tellOfMemory(host, memory, config);
    const joining = { ...targetsOf(host, options), clock: host.clock, signal };
    const stage = await ControlStage.join(asJob(config, options), joining);
    opening.unshift(stage);
    const worker = await ClusterWorker.join(stage.config, joining);
    opening.unshift(worker);
    const hierarchy = { ...stage.config.hierarchy, ...worker.changes };
    const interposer = await openInterposer(host, hierarchy, options, signal);
    opening.unshift(interposer);
    stage.follow(interposer.hierarchy);
    if (stage.control !== undefined && !interposer.about.isImaginary) joining.note?.(PAST_THE_SHARE);
    await worker.serve(interposer.hierarchy);
    await worker.followPlan(interposer.hierarchy, { signal });
    await offerMonitor(host, interposer, config);
    const close = () => closeAll(opening);
    return { interposer, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await closeAll(opening);
    throw error;
  }
}

function targetsOf(host: CommandHost, { notes = true }: InterposerOptions): LogTargets {
  const note = (line: string) => void host.terminal.write(`${line}\n`);
  return { warn: warnOn(host), note: notes ? note : undefined };
}

async function openInterposer(
  { terminal, clock }: CommandHost,
  hierarchy: HierarchyOptions,
  { root, farm, alias, record, replay, at }: InterposerOptions,
  signal: AbortSignal,
): Promise<Interposer> {
  let listing: ListingProgress | undefined;
  const bar = new ProgressBar(terminal, clock, 'telling programs of objects');
  const links = new ProgressBar(terminal, clock, 'making links');
  try {
    return await Interposer.open({
      hierarchy,
      root: root === undefined ? defaultRoot(hierarchy.source) : path.resolve(root),
      farm,
      aliases: alias,
      record,
      plan: replay.length === 0 ? undefined : keysOf(mergeTraces(replay.map(readTrace))),
      at,
      signal,
      onWait: (wait) => terminal.write(`${waitText(wait, hierarchy.source.name)}\n`),
      onHierarchy: (made) => (listing = new ListingProgress(made, terminal, clock)),
      onTable: (objects, of) => {
        listing?.stop();
        bar.update(objects, of);
      },
      onFarm: (objects, of) => {
        bar.stop();
        links.update(objects, of);
      },
    });
  } finally {
    listing?.stop();
    bar.stop();
    links.stop();
  }
}

/** What programs wait for, in words. */
function waitText({ key, ms, count }: ProgramWait, source: string): string {
  const who = count === 1 ? 'A program waits' : `${countOf(count, 'open', 'opens')} wait, the first of them`;
  return `${who} for ${JSON.stringify(key)}, which has not come from ${source} in ${Math.round(ms / 1000)} s.`;
}

/** Says below which path programs find the objects, where nobody has named one. */
export function tellRoot(
  { terminal }: CommandHost,
  { root }: InterposerOptions,
  { about, hierarchy }: Interposer,
): void {
  if (about.isImaginary && root === undefined)
    terminal.write(
      `The objects of ${hierarchy.stats().source.driver} are files below ${about.root} ($TIERED_ROOT).\n`,
    );
}

/** Says which tiers in memory have less room there than their quotas: that is all that they will hold. */
async function tellOfMemory(
  { terminal }: CommandHost,
  memory: MemoryDirectory,
  { hierarchy: { tiers = [] } }: LoadedConfig,
): Promise<void> {
  const { bavail, bsize } = await statfs(memory.path);
  for (const [level, { driver, quota }] of tiers.entries()) {
    const isInMemory = directoryOf(driver)?.startsWith(`${memory.path}/`) === true;
    if (isInMemory && parseBytes(quota) > bavail * bsize)
      terminal.write(
        `warning: tier ${level} is to hold ${formatBytes(parseBytes(quota))} in memory, and ${path.dirname(memory.path)} has ` +
          `${formatBytes(bavail * bsize)} free; make it larger (docker run --shm-size), or the quota smaller.\n`,
      );
  }
}

/**
 * Finds what would be found only when the source is listed, which may take minutes.
 * @throws TieredError `TIERED_CONFIG_INVALID`; the system's error for a trace that cannot be read
 */
async function assertUsable({
  record,
  replay,
  at,
}: Pick<InterposerOptions, 'record' | 'replay' | 'at'>): Promise<void> {
  if (at !== undefined) await assertNotTaken(at);
  if (record !== undefined && fs.lstatSync(record, { throwIfNoEntry: false }) !== undefined)
    throw configError('--record', 'a path at which there is nothing', record);
  for (const file of replay) fs.accessSync(file, fs.constants.R_OK);
}

/**
 * The configuration to load.
 * @throws TieredError `TIERED_CONFIG_INVALID` unless it is one of both.
 */
async function servedConfig({
  config,
  source,
  tier,
  manifest,
}: InterposerOptions): Promise<string | HierarchyConfig> {
  const isAlone = source === undefined && manifest === undefined && tier.length === 0;
  if (config !== undefined && isAlone) return config;
  if (config !== undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      '--config: cannot be combined with a source, --tier and --manifest',
    );
  if (source === undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      'Name a source and its tiers, such as /mnt/data --tier /nvme/cache:200GiB, or --config FILE.',
    );
  if (tier.length === 0)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      `Name the tiers of ${source}, such as --tier /nvme/cache:200GiB or --tier ram:8GiB.`,
    );
  const levels = { source: await sourceAt(source), tiers: tier.map(tierOf) };
  return manifest === undefined ? levels : { ...levels, manifest };
}

/**
 * The path below which programs find the objects of a source that is no directory: the name of the bucket and
 * the prefix, below `/tiered`. Undefined for a directory, whose files are where they are; in a cluster they
 * are not, since programs that read them there would get nothing from other workers.
 */
function defaultRoot(source: StorageDriver): string | undefined {
  if (directoryOf(source) !== undefined && source.peerReads === undefined) return undefined;
  const [, scheme = '', rest = source.name] = /^(\w+):\/\/(.*)$/s.exec(source.location ?? '') ?? [];
  const names = rest.split('/').filter((name) => !['', '.', '..'].includes(name));
  // Of a server's URL, the host says nothing of the data.
  const isUrl = scheme.startsWith('http') && names.length > 1;
  return [ROOTS, ...(isUrl ? names.slice(1) : names)].join('/');
}
