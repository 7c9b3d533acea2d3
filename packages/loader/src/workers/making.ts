import { systemClock } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { FORMAT_NAMES, type SampleFormat } from '@tiered/formats';
import { isOfModule } from '../batches/functions.js';
import { BatchMaker } from '../batches/make-batch.js';
import type { AnyOptions, CheckedOptions } from '../options.js';
import type { Parts } from '../order/parts.js';
import type { ThreadData } from './messages.js';
import { load } from './serve.js';
import { WorkerPool } from './worker-pool.js';

/**
 * Returns the maker of batches: this thread, or worker threads.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a format that other threads cannot make.
 */
export function makingOf(
  { list }: Parts,
  { transform, collate, workerExecArgv, prefetch }: AnyOptions,
  { workers, replaceWorkers }: CheckedOptions,
): BatchMaker | WorkerPool {
  const formats = list.map(({ samples }) => samples.format);
  if (workers === 0) {
    return new BatchMaker({
      formats,
      transform: here(transform),
      collate: here(collate),
    });
  }
  return new WorkerPool({
    workers,
    replacements: replaceWorkers,
    execArgv: workerExecArgv,
    clock: prefetch?.clock ?? systemClock,
    data: { formats: formats.map(sendable), transform: there(transform), collate: there(collate) },
  });
}

type AnyFunction = (...args: unknown[]) => unknown;

/** A function to call in this thread, even if it has to be loaded from a module first. */
function here(given: unknown): AnyFunction | undefined {
  if (!isOfModule(given)) return given as AnyFunction | undefined;
  let loaded: AnyFunction | undefined;
  let loading: Promise<AnyFunction> | undefined;
  return (...args: unknown[]) => {
    if (loaded !== undefined) return loaded(...args);
    loading ??= load<AnyFunction>(given).then((found) => (loaded = found));
    return loading.then((found) => found(...args));
  };
}

/** A function in the form sent to workers: URLs cannot be sent. */
function there(given: unknown): ThreadData['transform'] {
  return isOfModule(given) ? { module: String(given.module), export: given.export } : undefined;
}

function sendable({ name, options, madeBy }: SampleFormat<unknown>): ThreadData['formats'][number] {
  if (madeBy !== undefined) return { name, options, madeBy: there(madeBy) };
  if (FORMAT_NAMES.includes(name)) return { name, options, madeBy: undefined };
  throw configError(
    'workers',
    `a format that says where worker threads find it (madeBy); "${name}" does not`,
    'none',
  );
}
