import type fs from 'node:fs';
import type { Found } from './session-view.js';

/** What a program wants to open. */
export interface Wanted {
  readonly name: unknown;
  readonly flags: unknown;
  /** What an error calls that. */
  readonly syscall: string;
}

/**
 * Opens a path.
 * @param copyOf The file that it is a copy of, if it is one.
 */
export type Opening<T> = (path: fs.PathLike, copyOf: Found | undefined) => T;

/** Whether Node takes it for a path. */
export const isPath = (name: unknown): name is fs.PathLike =>
  typeof name === 'string' || name instanceof URL || Buffer.isBuffer(name);
