import { isTieredError } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { Interrupted } from './interrupted.js';

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
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: isTieredError(error, 'TIERED_CONFIG_INVALID') ? 2 : 1 };
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
      return 'this is a directory, and no file';
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
