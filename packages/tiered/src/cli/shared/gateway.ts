import { loadConfig, type HierarchyConfig, type LoadedConfig } from '@tiered/config';
import { TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import {
  accessLogLine,
  Gateway,
  type AccessLogEntry,
  type GatewayBucket,
  type GatewayMetricsOptions,
  type S3Credentials,
} from '@tiered/gateway';
import { isLoopback } from '@tiered/gateway/internal';
import path from 'node:path';
import { closeAll, type Closable } from '../../closing.js';
import { ClusterWorker } from '../../cluster/cluster-worker.js';
import { ControlStage } from '../../control/control-stage.js';
import { sourceAt, tierOf } from '../../dataset/locations.js';
import { serveMonitor } from '../../monitor/serve-monitor.js';
import { ownSockets } from '../../monitor/sockets.js';
import { ListingProgress } from '../../progress.js';
import { messageOf } from '../../words.js';
import { warnOn, type CommandHost } from '../host.js';
import { optionsInSeat, type ServeSeat } from './serve-seat.js';
import type { ServedFacts, ServedTotals } from './served-text.js';
import { portTaken } from './port-taken.js';

/** What is served to clients of S3, and how. */
export interface ServeOptions {
  /** Each as `tierOf` takes it. */
  readonly tier: readonly string[];
  readonly manifest?: string;
  readonly bucket?: string;
  readonly changing: readonly string[];
  readonly writes: readonly string[];
  readonly cluster?: string;
  readonly host: string;
  readonly port: number;
  readonly metricsPort?: number;
  readonly accessLog?: boolean;
  readonly json?: boolean;
  readonly processes: number;
}

/** A bucket of the endpoint. */
interface ServedBucket extends GatewayBucket {
  readonly name: string;
  readonly prefix: string;
  readonly worker: ClusterWorker;
  readonly stage: ControlStage;
}

/** A gateway and its hierarchies, and how many answers it gave. */
export interface ServedGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly buckets: readonly ServedBucket[];
  readonly isSigned: boolean;
  readonly counted: { answers: number; bytes: number };
}

/**
 * Opens hierarchies and serves them. A failure closes again what was opened.
 * @param seat If this is one of several processes. Those who watch ask another one then.
 */
export async function openGateway(
  host: CommandHost,
  what: readonly string[],
  options: ServeOptions,
  signal: AbortSignal,
  seat?: ServeSeat,
): Promise<ServedGateway> {
  const credentials = credentialsIn(process.env);
  // The gateway would say so only when the source has been listed.
  if (credentials === undefined && !isLoopback(options.host))
    throw invalid(
      `--host: others can reach ${options.host}; set TIERED_ACCESS_KEY_ID and TIERED_SECRET_ACCESS_KEY, the keys that clients are to sign with`,
    );
  const buckets: ServedBucket[] = [];
  const closeBuckets = async () => {
    await Promise.all(buckets.map(({ hierarchy, worker, stage }) => closeAll([hierarchy, worker, stage])));
  };
  try {
    for (const [index, one] of (await configsOf(what, options)).entries()) {
      const changes = (made: HierarchyOptions) => seat && optionsInSeat(seat, made, String(index));
      const opening = { signal, changes, isShared: seat !== undefined };
      buckets.push(await openBucket(host, one, options, opening));
    }
    assertDistinct(buckets);
    const counted = { answers: 0, bytes: 0 };
    const onAnswer = (entry: AccessLogEntry) => {
      counted.answers += 1;
      counted.bytes += entry.bytes;
      if (options.accessLog === true) host.terminal.write(`${accessLogLine(entry)}\n`);
    };
    const gateway = await Gateway.start({
      buckets: Object.fromEntries(buckets.map(({ name, ...bucket }) => [name, bucket])),
      credentials,
      host: options.host,
      port: seat?.port ?? options.port,
      metrics: seat === undefined ? metricsOptions(options) : undefined,
      onAnswer,
      clock: host.clock,
      signal,
    }).catch((error: unknown) => {
      throw portTaken(error);
    });
    const close = () => gateway.close().finally(closeBuckets);
    return { gateway, buckets, isSigned: credentials !== undefined, counted, [Symbol.asyncDispose]: close };
  } catch (error) {
    await closeBuckets();
    throw error;
  }
}

/** What is to be loaded: files, or a source with its tiers. */
async function configsOf(
  what: readonly string[],
  { tier, manifest, bucket, changing, writes, cluster }: ServeOptions,
): Promise<(string | HierarchyConfig)[]> {
  const [source = ''] = what;
  if (what.length > 1 && (tier.length > 0 || bucket !== undefined))
    throw invalid('--tier and --bucket: name one source or one configuration beside them');
  if (tier.length > 0) {
    const levels = { source: await sourceAt(source), tiers: tier.map(tierOf) };
    const others = {
      ...(manifest !== undefined && { manifest }),
      ...(cluster !== undefined && { cluster: { name: cluster } }),
    };
    return [{ ...levels, ...others, gateway: { changing, writes } }];
  }
  const other = what.find((name) => !/\.(ya?ml|json)$/i.test(name));
  if (other !== undefined)
    throw invalid(
      `${other} is no configuration (.yaml, .yml or .json). Of a source, name the tiers, such as --tier /nvme/cache:200GiB or --tier ram:8GiB.`,
    );
  if ([manifest, cluster].some((said) => said !== undefined) || changing.length + writes.length > 0)
    throw invalid(
      '--manifest, --cluster, --changing and --writes: go with a source; a configuration names its own',
    );
  return [...what];
}

/** How a hierarchy is opened, and what is different from its configuration. */
interface Opening {
  readonly signal: AbortSignal;
  readonly changes: (made: HierarchyOptions) => Promise<Partial<HierarchyOptions>> | undefined;
  /** Whether other processes serve it too. */
  readonly isShared: boolean;
}

async function openBucket(
  host: CommandHost,
  config: string | HierarchyConfig,
  { bucket }: ServeOptions,
  { signal, changes, isShared }: Opening,
): Promise<ServedBucket> {
  const { terminal, clock } = host;
  const warn = warnOn(host);
  const written = await loadConfig(config, { clock, warn });
  if (isShared && written.cluster !== undefined)
    throw invalid(
      '--processes: a worker of a cluster is one process; serve with one, or without the section cluster',
    );
  const note = (line: string) => void terminal.write(`${line}\n`);
  const stage = await ControlStage.join(written, { clock, signal, warn, note });
  const loaded = stage.config;
  const opening: Closable[] = [stage];
  try {
    const worker = await ClusterWorker.join(loaded, { clock, signal, warn, note });
    opening.unshift(worker);
    const hierarchy = loaded.makeHierarchy({ ...worker.changes, ...(await changes(loaded.hierarchy)) });
    opening.unshift(hierarchy);
    const listing = new ListingProgress(hierarchy, terminal, clock);
    await hierarchy.open({ signal }).finally(() => listing.stop());
    stage.follow(hierarchy);
    await worker.serve(hierarchy);
    await worker.followPlan(hierarchy, { signal });
    await offerMonitor(hierarchy, loaded, clock, warn);
    const place = bucket === undefined ? placeOf(hierarchy) : placeIn(bucket);
    const { changing, writes } = loaded.gateway;
    const { cluster } = worker;
    const peers = cluster && (() => cluster.stats().perPeer);
    // The other processes write there too.
    return { ...place, hierarchy, worker, stage, peers, changing, writes: writes && { ...writes, isShared } };
  } catch (error) {
    await closeAll(opening);
    throw error;
  }
}

/** Lets `tiered top` watch what is read. It ends with the hierarchy. */
async function offerMonitor(
  hierarchy: Hierarchy,
  { monitor }: LoadedConfig,
  clock: CommandHost['clock'],
  warn: (line: string) => void,
): Promise<void> {
  const directory = monitor ?? ownSockets();
  await serveMonitor(hierarchy, { directory, clock }).catch((error: unknown) =>
    warn(`"tiered top" cannot watch this: ${messageOf(error)}`),
  );
}

type Place = Pick<ServedBucket, 'name' | 'prefix'>;

/** As `--bucket` says it. */
function placeIn(text: string): Place {
  const [name = ''] = text.split('/', 1);
  const prefix = text.slice(name.length + 1);
  return { name, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` };
}

/**
 * The bucket and the prefix of the source, so that clients need nothing but another endpoint. Of a directory,
 * the bucket has its name.
 */
function placeOf({ source }: Hierarchy): Place {
  const [, scheme = 'file', rest = ''] = /^(\w+):\/\/(.*)$/s.exec(source.location ?? '') ?? [];
  if (scheme === 'file') return { name: bucketNamed(path.basename(rest) || 'data'), prefix: '' };
  // Of a server's URL, the host says nothing of the data.
  const [name = '', ...prefix] = rest.split('/').slice(scheme.startsWith('http') ? 1 : 0);
  return placeIn([name, ...prefix].join('/'));
}

/** A name for a bucket that is like that of a directory. */
function bucketNamed(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
    .slice(0, 63);
  return plain.length < 3 ? 'data' : plain;
}

function assertDistinct(buckets: readonly Place[]): void {
  const names = buckets.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw invalid(`two configurations are of the bucket ${twice}; serve each by a command of its own`);
}

/** The keys of clients. Those of the source have other names. */
function credentialsIn(env: NodeJS.ProcessEnv): S3Credentials | undefined {
  const { TIERED_ACCESS_KEY_ID: accessKeyId = '', TIERED_SECRET_ACCESS_KEY: secretAccessKey = '' } = env;
  if (accessKeyId === '' && secretAccessKey === '') return undefined;
  if (accessKeyId !== '' && secretAccessKey !== '') return { accessKeyId, secretAccessKey };
  throw invalid('TIERED_ACCESS_KEY_ID and TIERED_SECRET_ACCESS_KEY: set both, or none');
}

/** The port for those who watch, if there is to be one. */
export function metricsOptions({ metricsPort }: ServeOptions): GatewayMetricsOptions | undefined {
  return metricsPort === undefined
    ? undefined
    : { port: metricsPort, token: process.env['TIERED_METRICS_TOKEN'] };
}

function invalid(message: string): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', message);
}

/** What is said of an endpoint when clients can come. */
export function factsOf({ gateway, buckets, isSigned }: ServedGateway): ServedFacts {
  const { endpoint, metricsEndpoint } = gateway;
  const inMemory = buckets
    .flatMap(({ hierarchy }) => hierarchy.tiers)
    .filter(({ driver }) => driver.location === undefined);
  return {
    endpoint,
    metricsEndpoint,
    buckets: buckets.map(({ name, prefix, hierarchy: { source, namespace } }) => ({
      name,
      prefix,
      source: source.name,
      objects: namespace.known,
    })),
    isSigned,
    processes: [process.pid],
    memoryBytes: inMemory.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0),
  };
}

/** What was done until now. */
export function totalsOf({ buckets, counted }: ServedGateway): ServedTotals {
  const sourceBytes = buckets.reduce((sum, { hierarchy }) => sum + hierarchy.stats().source.readBytes, 0);
  return { ...counted, sourceBytes };
}
