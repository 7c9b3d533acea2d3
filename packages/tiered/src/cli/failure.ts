import { isTieredError, TieredError } from '@tiered/core';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { messageOf } from '../words.js';

/** Added to the number of a signal, it is the exit code of a process that ends by it. */
export const SIGNALLED = 128;

/** A signal of the system ended the work. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;
  /** The exit code of a command that ends by it, as shells give it. */
  readonly status: number;

  /** @param told What was done by then, and what comes next, where there is something to say. */
  constructor(signal: NodeJS.Signals, told?: string) {
    super(`Ended by ${signal}.${told === undefined ? '' : ` ${told}`}`);
    this.name = 'Interrupted';
    this.signal = signal;
    this.status = SIGNALLED + os.constants.signals[signal];
  }
}

/** A command ran a program, and ends with its exit code. */
export class ProgramEnded extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`The program ended with exit code ${code}.`);
    this.name = 'ProgramEnded';
    this.code = code;
  }
}

/** What is said of a failure, and the exit code of the command. */
export interface Failure {
  readonly message: string;
  readonly code: number;
}

/** Codes of the system for a path that cannot be what it was given for: as wrong as any other argument. */
const WRONG_PATH = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ELOOP']);

/**
 * What a command says of an error. The system's errors name functions of the C library. People get the path
 * that they gave, and what is wrong with it.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof Interrupted) return { message: error.message, code: error.status };
  if (isSystemError(error))
    return {
      message: `${error.path}: ${wrongWith(error.path, error)}`,
      code: WRONG_PATH.has(error.code) ? 2 : 1,
    };
  return { message: messageOf(error), code: isTieredError(error, 'TIERED_CONFIG_INVALID') ? 2 : 1 };
}

interface SystemError {
  readonly code: string;
  readonly errno: number;
  readonly path: string;
}

/** Whether the system has refused something with a path. */
export function isSystemError(error: unknown): error is Error & SystemError {
  const { code, errno, path: file } = (error ?? {}) as NodeJS.ErrnoException;
  return (
    error instanceof Error &&
    typeof code === 'string' &&
    typeof errno === 'number' &&
    typeof file === 'string'
  );
}

function wrongWith(file: string, { code, errno }: SystemError): string {
  switch (code) {
    case 'ENOENT': {
      const above = path.dirname(file);
      return fs.existsSync(above) ? 'no such file' : `there is no directory ${above}`;
    }
    case 'ENOTDIR':
      return 'a file stands where a directory must be';
    case 'EISDIR':
      return 'this is a directory, not a file';
    case 'EACCES':
    case 'EPERM':
      return deniedAt(file);
    case 'EROFS':
      return 'its file system is mounted read-only';
    default:
      return getSystemErrorMap().get(errno)?.[1] ?? code;
  }
}

/** Says that this user may not use a path, and who may. */
export function deniedAt(file: string): string {
  const owner = ownerOf(file);
  if (owner !== undefined) return `this user may not read it; it belongs to ${owner}`;
  const above = path.dirname(file);
  return `this user may not make it; ${above} belongs to ${ownerOf(above) ?? 'somebody else'}`;
}

/** Undefined where nothing is, or nothing may be looked at. */
function ownerOf(file: string): string | undefined {
  try {
    const { uid } = fs.statSync(file);
    if (uid === process.geteuid?.()) return 'this user, so its mode is wrong';
    return uid === 0 ? 'root' : `the user ${uid}`;
  } catch {
    return undefined;
  }
}

/**
 * Says what to install where `@tiered/interpose` is missing.
 * @throws TieredError `TIERED_UNSUPPORTED` that says what to install; errors that say anything else.
 */
export function asMissing(error: unknown): never {
  const { code, message: said } = error as NodeJS.ErrnoException;
  // The missing module may be of that package, or of this one: only the message says which.
  if (code !== 'ERR_MODULE_NOT_FOUND' || !said.includes("package '@tiered/interpose'")) throw error;
  const message = 'This command needs a package that is not installed: npm install @tiered/interpose';
  throw new TieredError('TIERED_UNSUPPORTED', message, { cause: error });
}
