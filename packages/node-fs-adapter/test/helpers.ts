import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ErrorCode, StorageDriver } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { FileSystemDriver, type FileSystemDriverOptions } from '@tiered/node-fs-adapter';
import { expect, onTestFinished } from 'vitest';

/** A new, empty directory. */
export function temporaryDirectory(): Promise<string> {
  return fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
}

/** Creates or replaces a file and the directories above it, as another program would. */
export async function putFile(root: string, key: string, bytes: Uint8Array): Promise<void> {
  const filePath = path.join(root, key);
  await fs.mkdir(path.dirname(filePath), { recursive: true });
  await fs.writeFile(`${filePath}.new`, bytes);
  await fs.rename(`${filePath}.new`, filePath);
}

/** What the files beside the root hold: no read may ever give it. */
export const SECRET = 'not yours';

/** A driver on a root, and what lies beside the root. */
export interface Place {
  /** Holds `root` and `outside`, and nothing else. */
  readonly directory: string;
  readonly root: string;
  readonly outside: string;
  readonly driver: FileSystemDriver;
}

/** A driver, open, on an empty root beside a tree of secrets. All of it goes when the test ends. */
export async function place(options: Omit<FileSystemDriverOptions, 'root'> = {}): Promise<Place> {
  const directory = await temporaryDirectory();
  const [root, outside] = [path.join(directory, 'root'), path.join(directory, 'outside')];
  await fs.mkdir(root);
  for (const key of ['secret', 'a', 'deep/secret', 'deep/er/secret']) {
    await putFile(outside, key, Buffer.from(SECRET));
    // Older than the last change: so that a read moves it also where times of access are kept lazily.
    await fs.utimes(path.join(outside, key), new Date(0), new Date(1000));
  }
  await fs.mkdir(path.join(outside, 'empty'));
  const driver = new FileSystemDriver({ root, ...options });
  await driver.open({});
  onTestFinished(async () => {
    await driver.close();
    await fs.rm(directory, { recursive: true });
  });
  return { directory, root, outside, driver };
}

/** A tree as it is, links not followed; differs after anything was made, changed, read or removed in it. */
export async function snapshot(directory: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const name of ['.', ...(await fs.readdir(directory, { recursive: true })).sort()]) {
    const stat = await fs.lstat(path.join(directory, name), { bigint: true });
    const { ino, mode, size, mtimeNs, ctimeNs, atimeNs } = stat;
    tree[name] = [ino, mode, size, mtimeNs, ctimeNs, stat.isFile() ? atimeNs : ''].join(' ');
  }
  return tree;
}

/** For `rejects.toEqual(...)`: an error with this code. */
export function withCode(code: ErrorCode, retryable = false): Error {
  return expect.objectContaining({ name: 'TieredError', code, retryable }) as Error;
}

/** Writes a text as an object. */
export function put(driver: StorageDriver, key: string, text = key): Promise<void> {
  const bytes = Buffer.from(text);
  return driver.write(key, bytes, { size: bytes.byteLength });
}

/** The first bytes of an object, as text. */
export async function textOf(driver: StorageDriver, key: string): Promise<string> {
  return Buffer.from(await driver.read(key, { offset: 0, length: 1000 })).toString();
}

/** As `textOf`, and leaves the file open: one that is read for the first time may be closed again at once. */
export async function keptTextOf(driver: StorageDriver, key: string): Promise<string> {
  await textOf(driver, key);
  return textOf(driver, key);
}

/**
 * The first bytes of many objects, as text, or the errors of those that failed: by one batch into shared
 * memory.
 */
export async function textsOf(
  driver: StorageDriver,
  keys: readonly string[],
  version?: string,
): Promise<unknown[]> {
  const memory = new SharedArrayBuffer(keys.length * 100);
  const targets = keys.map((_, i) => new Uint8Array(memory, i * 100, 100));
  const requests = keys.map((key, i) => ({
    key,
    offset: 0,
    target: targets[i] ?? new Uint8Array(),
    version,
  }));
  const outcomes = await driver.readMany(requests, {});
  return outcomes.map((outcome, i) =>
    'error' in outcome ? outcome.error : Buffer.from(targets[i]?.slice(0, outcome.bytes) ?? []).toString(),
  );
}

/** As `textsOf`, of one object; throws its error. */
export async function sharedTextOf(driver: StorageDriver, key: string, version?: string): Promise<string> {
  const [found] = await textsOf(driver, [key], version);
  if (typeof found !== 'string') throw found;
  return found;
}

/** Every key of a listing, sorted. */
export async function keysOf(driver: StorageDriver, prefix?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of driver.list({ prefix })) keys.push(...page.map(({ key }) => key));
  return keys.sort();
}

/** The files in the driver's own directory, where writes are on their way. */
export function temporaryFiles(root: string): Promise<string[]> {
  return fs.readdir(path.join(root, '.tiered', 'tmp'));
}

/** Something to wait at until the test opens it. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}

/** Lets the event loop turn, which takes no time. */
export function turn(): Promise<void> {
  return new ManualClock().advance(0);
}

/**
 * Waits until no more descriptors are open than may be; a driver that keeps more runs into the test's
 * timeout.
 */
export async function settledTo(driver: FileSystemDriver, most: number): Promise<void> {
  while (driver.openFiles > most) await turn();
}

/** This process's descriptors of what lies below a directory, as the kernel counts them (Linux). */
export async function descriptorsBelow(directory: string): Promise<number> {
  const names = await fs.readdir('/proc/self/fd');
  const targets = await Promise.all(names.map((fd) => fs.readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(directory + path.sep)).length;
}

/** The ways to read, each of which has its own way to open files. */
export const WAYS = [
  { way: 'blocking reads', blockingCalls: true },
  { way: 'reads in Node’s pool', blockingCalls: false, nativeThreads: 0 },
  { way: 'reads in native threads', blockingCalls: false },
];

/** An option of tests that look at the kernel's own account. */
export const onLinux = { skip: process.platform !== 'linux' };

/** The command that runs a script of `children` in a process of its own, with the packages' sources. */
export function childCommand(script: string, ...args: readonly string[]): [string, string[]] {
  const file = fileURLToPath(new URL(`./children/${script}`, import.meta.url));
  return [process.execPath, ['--conditions=tiered-source', '--import', 'tsx', file, ...args]];
}

const RECORDER = new URL('children/record-calls.mjs', import.meta.url);

/**
 * What calls of the file system a process makes on a root: for each of its marks the lines that follow it, as
 * `children/record-calls.mjs` writes them.
 */
export async function recorded(what: string, root: string): Promise<Map<string, string[]>> {
  const directory = await temporaryDirectory();
  const file = path.join(directory, 'calls');
  const [node, args] = childCommand('make-calls.ts', what, root);
  const env = {
    ...process.env,
    RECORD_ROOT: root,
    RECORD_FILE: file,
    NODE_OPTIONS: `--import ${fileURLToPath(RECORDER)}`,
  };
  try {
    await promisify(execFile)(node, args, { env });
    const [, ...sections] = (await fs.readFile(file, 'utf8')).split(/^-- /m);
    return new Map(
      sections.map((section) => {
        const [mark = '', ...lines] = section.trimEnd().split('\n');
        return [mark, lines];
      }),
    );
  } finally {
    await fs.rm(directory, { recursive: true });
  }
}
