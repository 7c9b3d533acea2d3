import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * A system call on files that has succeeded. Times are positions in the record: when it was begun, and when
 * it had ended.
 */
export interface Call {
  /** Such as `rename`, also for `renameat`. */
  readonly name: string;
  readonly began: number;
  readonly ended: number;
  /** What it is on, absolute: one path, or that before and that after. */
  readonly paths: readonly string[];
  /** What it wrote. */
  readonly bytes: Buffer;
  /** Its other arguments, and what it returned. */
  readonly numbers: readonly number[];
  readonly flags: string;
  readonly result: number;
}

/** Calls that change files or names, or put them on the disk. */
const CALLS = [
  ...['openat', 'pwrite64', 'write', 'pwritev', 'writev', 'ftruncate', 'fallocate', 'fsync', 'fdatasync'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'mkdir', 'mkdirat', 'rmdir'],
];
/** The end of names of calls that take a directory for each path. */
const PLACED = /(?<!open)at2?$/;
const LONGEST_WRITE = 1 << 24;

/** Why calls cannot be recorded here; undefined if they can. */
export const missing =
  spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true']).status === 0
    ? undefined
    : 'strace does not work here: bash tools/servers/install.sh strace';

/**
 * Runs a program of Node and records its calls on files, of all its threads, in the order in which they
 * ended.
 */
export async function traced(args: readonly string[], file: string): Promise<Call[]> {
  const env = { ...process.env, UV_USE_IO_URING: '0' };
  const options = ['-f', '-y', '-xx', '-qq', '-s', String(LONGEST_WRITE), '-o', file];
  const which = ['-e', `trace=${CALLS.join()}`, '-e', 'signal=none', '--seccomp-bpf'];
  await promisify(execFile)('strace', [...options, ...which, process.execPath, ...args], { env });
  return callsOf(fs.readFileSync(file, 'latin1').split('\n'));
}

/**
 * The lines of a record: `thread call(arguments) = result`, or in two parts if other threads' lines came
 * between.
 */
function callsOf(lines: readonly string[]): Call[] {
  const begun = new Map<string, { text: string; began: number }>();
  const calls: Call[] = [];
  for (const [at, line] of lines.entries()) {
    const [, thread = '', said = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, beginning] = /^(.*) <unfinished \.\.\.>$/.exec(said) ?? [];
    if (beginning !== undefined) {
      begun.set(thread, { text: beginning, began: at });
      continue;
    }
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(said) ?? [];
    const { text, began } = (rest !== undefined && begun.get(thread)) || { text: '', began: at };
    const call = callOf(text + (rest ?? said), began, at);
    if (call !== undefined) calls.push(call);
  }
  return calls;
}

/**
 * With `-xx` and `-y` all text is in hexadecimal digits, so that commas, quotes and brackets are those of the
 * line.
 */
function callOf(text: string, began: number, ended: number): Call | undefined {
  const [, name, inner = '', returned = ''] = /^(\w+)\((.*)\) += (-?\d+)/.exec(text) ?? [];
  const result = Number(returned);
  if (name === undefined || result < 0) return undefined;
  const args = inner.split(', ');
  const texts = args.filter((one) => one.startsWith('"')).map((one) => bytesOf(one.slice(1, -1)));
  const opened = args.filter((one) => /^(AT_FDCWD|\d+)</.test(one)).map(pathOf);
  const isWrite = /write/.test(name);
  const isByDescriptor = texts.length === 0 || isWrite;
  // `openat`, `renameat` and their like name a directory for each path, and others none.
  const directoryOf = (at: number) => opened[at] ?? process.cwd();
  const paths = isByDescriptor
    ? opened
    : texts.map((one, at) => path.resolve(directoryOf(at), one.toString()));
  const numbers = args.filter((one) => /^-?\d+$/.test(one)).map(Number);
  const flags = args.filter((one) => /^[A-Z]/.test(one) && !one.startsWith('AT_FDCWD<')).join();
  const bytes = isWrite ? Buffer.concat(texts) : Buffer.alloc(0);
  return { name: name.replace(PLACED, ''), began, ended, paths, bytes, numbers, flags, result };
}

const pathOf = (one: string) => bytesOf(one.slice(one.indexOf('<') + 1, one.indexOf('>'))).toString();
const bytesOf = (text: string) => Buffer.from(text.replaceAll('\\x', ''), 'hex');
