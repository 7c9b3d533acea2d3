import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import type { BatchTask, MadeBatch } from '../batches/task.js';
import type { ModuleFunction } from '../batches/functions.js';

/** What a worker thread is told when it starts. */
export interface ThreadData {
  /** By part. */
  readonly formats: readonly {
    readonly name: string;
    readonly options: Readonly<Record<string, unknown>>;
    readonly madeBy: ModuleFunction | undefined;
  }[];
  readonly transform?: ModuleFunction | undefined;
  readonly collate?: ModuleFunction | undefined;
}

/** The numbers of a worker thread that all threads see. Each is 0 at first, and 1 once it is so. */
export const SERVES = 0;
export const IS_TO_END = 1;

/**
 * The same, and what is so of this thread: whether it may be in the middle of a sample (`SERVES`), and
 * whether it is to end (`IS_TO_END`). Each side sets its own number, and then looks at the other one. So if a
 * thread is told to end just when it begins, at least one of the two sees the other.
 */
export interface StartData extends ThreadData {
  readonly state: Int32Array;
}

/** Wakes a thread that is to end. */
export type EndMessage = 'end';

/** What a worker thread is asked. */
export interface MakeMessage {
  readonly id: number;
  readonly task: BatchTask;
  /** Blocks that are not needed any more. */
  readonly dropped: readonly number[];
}

/** What it answers. `ready` once its modules are loaded. */
export type ThreadMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'made'; readonly id: number; readonly made: MadeBatch }
  | { readonly type: 'failed'; readonly id: number; readonly error: ErrorBody };

/** An error on its way between threads. */
export interface ErrorBody {
  readonly code: string | undefined;
  readonly message: string;
  readonly key: string | undefined;
  readonly cause: unknown;
}

/** An error as it can be sent. Its cause is sent as it is if it can be, else as text. */
export function errorBody(error: unknown): ErrorBody {
  if (!isTieredError(error))
    return { code: undefined, message: String(error), key: undefined, cause: sendable(error) };
  const { code, message, key, cause } = error;
  return { code, message, key, cause: cause === undefined ? undefined : sendable(cause) };
}

/** The error that was sent. */
export function errorFrom({ code, message, key, cause }: ErrorBody): unknown {
  if (code === undefined || !Object.hasOwn(ERROR_CODES, code))
    return cause instanceof Error ? cause : new Error(message);
  return new TieredError(code as ErrorCode, message, { key, cause });
}

function sendable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return new Error(String(value));
  }
}
