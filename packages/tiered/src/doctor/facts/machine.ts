import { family, version } from 'detect-libc';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { native, type Native } from '@tiered/native';

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
export async function lookAtMachine(
  env: Readonly<Record<string, string | undefined>>,
): Promise<MachineFacts> {
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
