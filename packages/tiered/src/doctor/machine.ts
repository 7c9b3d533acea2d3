import { formatBytes } from '@tiered/core';
import { native, type Native } from '@tiered/native';
import { family, version } from 'detect-libc';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import type { Environment } from '../configuration/written.js';
import { findingsOn, type Finding } from './finding.js';

/** What limits this process. */
export interface MachineFacts {
  /** Such as `20.19.0`. */
  readonly node: string;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly kernel: string;
  /** Such as `glibc 2.36`; undefined where it has no name. */
  readonly libc: string | undefined;
  readonly cores: number;
  /** Bytes that the process may use: the machine's, or those of its container. */
  readonly memoryBytes: number;
  /** Descriptors that the process may have; undefined if that is not known. */
  readonly openFiles: number | undefined;
  /** Soft limits by the names that the kernel gives them. */
  readonly limits: Readonly<Record<string, string>>;
  /** Threads of Node's pool. */
  readonly poolThreads: number;
  readonly native: Native;
}

/** libuv's number, unless UV_THREADPOOL_SIZE says otherwise. */
const POOL_THREADS = 4;
const OPEN_FILES = 'Max open files';

/** Looks at the machine, and at what this process may use of it. */
export async function lookAtMachine(env: Environment): Promise<MachineFacts> {
  const limits = await limitsOfProcess();
  const [libc, libcVersion] = [await family(), await version()];
  const constrained = process.constrainedMemory();
  return {
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    kernel: `${os.type()} ${os.release()}`,
    libc: libc === null ? undefined : [libc, libcVersion].filter(Boolean).join(' '),
    cores: os.availableParallelism(),
    memoryBytes: Math.min(os.totalmem(), constrained > 0 ? constrained : Infinity),
    openFiles: numberOf(limits[OPEN_FILES]),
    limits,
    poolThreads: numberOf(env['UV_THREADPOOL_SIZE']) ?? POOL_THREADS,
    native: native(),
  };
}

/** The soft limits: each line has the name, two columns and the unit, with blanks between them (Linux). */
async function limitsOfProcess(): Promise<Record<string, string>> {
  const table = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const rows = table.matchAll(/^(Max [a-z ]*?[a-z]) {2,}(\d+|unlimited) /gm);
  return Object.fromEntries([...rows].map(([, name = '', soft = '']) => [name, soft]));
}

function numberOf(text: string | undefined): number | undefined {
  if (text === 'unlimited') return Infinity;
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const { ok, note, warning, problem } = findingsOn('machine');

/** The oldest Node that can run this, as the packages say. */
const LEAST = [20, 19] as const;
/** The releases of Node that the tests are run with. */
const TESTED = [20, 22, 24, 26];

/** Whether this Node is one that works. */
export function nodeWorks({ node }: Pick<MachineFacts, 'node'>): Finding {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]))
    return problem(`Node ${node} is too old`, `Use Node ${LEAST.join('.')} or later, best ${TESTED.at(-1)}.`);
  return TESTED.includes(major)
    ? ok(`Node ${node}`)
    : note(`Node ${node} is a release that tiered is not tested with`, `It is with ${TESTED.join(', ')}.`);
}

/** Whether there are processors for reading beside the training. */
export function coresSuffice({ cores }: Pick<MachineFacts, 'cores'>): Finding {
  return cores > 1
    ? ok(`${cores} cores`)
    : note('only one core may be used here', 'Reading and the training share it; give the container more.');
}

/** What keeps descriptors open, by its name. */
export type DescriptorUses = ReadonlyMap<string, number>;

/** Standard streams, modules, threads, the index and its sockets, with some to spare. */
const OTHER_DESCRIPTORS = 128;

/** Whether the process may have the descriptors that the levels may keep open. */
export function descriptorsSuffice(
  uses: DescriptorUses,
  { openFiles }: Pick<MachineFacts, 'openFiles'>,
): Finding[] {
  if (openFiles === undefined) return [];
  const needed = [...uses.values()].reduce((sum, count) => sum + count, OTHER_DESCRIPTORS);
  const found = `up to ${needed.toLocaleString('en')} files and connections are open at a time, of ${openFiles === Infinity ? 'any number' : openFiles.toLocaleString('en')} that are allowed`;
  return [
    needed > openFiles
      ? problem(
          found,
          `Allow more: ulimit -n ${Math.max(4096, 2 * needed)}, LimitNOFILE= of a service, or --ulimit nofile= of a container. Or keep fewer open, by maxOpenFiles of fs and concurrency of s3.`,
        )
      : ok(found),
  ];
}

/** Pools of this size bear the latency of network file systems. */
const MANY_THREADS = 16;

/**
 * Whether files are read by native threads, and if not, whether Node's pool makes up for that.
 * @param areFiles Whether any level is a directory.
 */
export function threadsSuffice(
  { native, poolThreads }: Pick<MachineFacts, 'native' | 'poolThreads'>,
  areFiles: boolean,
): Finding[] {
  if (!areFiles) return [];
  if (native.available) return [ok('files are read by native threads (@tiered/native)')];
  const found = `files are read by Node's ${poolThreads} threads, as native ones are not available: ${native.reason.replace(/\.$/, '')}`;
  const advice =
    poolThreads >= MANY_THREADS
      ? undefined
      : `That is too few for a slow file system. ${native.advice === undefined ? 'Set' : `${native.advice} Or set`} UV_THREADPOOL_SIZE to 32 or 64 in the environment before Node starts.`;
  // Somebody installed it, and expects it to be used.
  return [
    native.tried.length > 0 && /cannot be loaded/.test(found) ? warning(found, advice) : note(found, advice),
  ];
}

/** What takes memory, by its name. */
export type MemoryUses = ReadonlyMap<string, number>;

/** A training needs memory for itself, and the kernel for what it caches. */
const PLENTY = 0.75;

/** Whether there is memory for all that may be held in it, by one process. */
export function memorySuffices(
  uses: MemoryUses,
  { memoryBytes }: Pick<MachineFacts, 'memoryBytes'>,
): Finding {
  const needed = [...uses.values()].reduce((sum, bytes) => sum + bytes, 0);
  const parts = [...uses].map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(', ');
  const found = `up to ${formatBytes(needed)} of memory are held (${parts}), of ${formatBytes(memoryBytes)} that a process may use here`;
  if (needed > memoryBytes)
    return problem(found, 'Give tiers in RAM less, or the machine or its container more.');
  return needed > PLENTY * memoryBytes
    ? warning(
        found,
        'Leave a quarter to the training itself and to the kernel. Each process has tiers in RAM of its own.',
      )
    : ok(found);
}
