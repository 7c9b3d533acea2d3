import { ERROR_CODES, isTieredError, TieredError, type ErrorCode } from '@tiered/core';
import type { BatchTask, MadeBatch } from '../batches/task.js';
import type { ModuleFunction } from '../batches/functions.js';

/** The start data of a worker thread. */
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

/** Indexes of a worker thread's flags in shared memory. Each flag is 0 at first, and 1 once it is set. */
export const SERVES = 0;
export const IS_TO_END = 1;

/**
 * The same, with the flags of this thread: whether it may be in the middle of a sample (`SERVES`), and
 * whether it is to end (`IS_TO_END`). Each side sets its own flag, and then reads the other one. So if a
 * thread is told to end just when it begins, at least one side sees the other's flag.
 */
export interface StartData extends ThreadData {
  readonly state: Int32Array;
}

/** Wakes a thread that is to end. */
export type EndMessage = 'end';

/** A request to a worker thread. */
export interface MakeMessage {
  readonly id: number;
  readonly task: BatchTask;
  /** Blocks that are no longer needed. */
  readonly dropped: readonly number[];
}

/** Answers of the thread. `ready` is sent once its modules are loaded. */
export type ThreadMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'made'; readonly id: number; readonly made: MadeBatch }
  | { readonly type: 'failed'; readonly id: number; readonly error: ErrorBody };

/** An error in transfer between threads. */
export interface ErrorBody {
  readonly code: string | undefined;
  readonly message: string;
  readonly key: string | undefined;
  readonly cause: unknown;
}

/** Converts an error for sending. Its cause is sent unchanged if possible, else as text. */
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
