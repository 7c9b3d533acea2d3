import { formatOf, type SampleFormat } from '@tiered/formats';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { Collate, ModuleFunction, Transform } from '../batches/functions.js';
import { BatchMaker } from '../batches/make-batch.js';
import {
  errorBody,
  IS_TO_END,
  SERVES,
  type EndMessage,
  type MakeMessage,
  type StartData,
  type ThreadData,
  type ThreadMessage,
} from './messages.js';
import { toSend } from './transfer.js';

/**
 * Makes batches in a worker thread, for the loader that started it.
 *
 * A thread that is to end exits by itself between two samples, not in the middle of one: many native addons
 * abort the process if their thread is stopped while they work.
 */
export async function serveBatches(port: MessagePort, data: StartData): Promise<void> {
  const endIfAsked = () => {
    if (Atomics.load(data.state, IS_TO_END) !== 0) process.exit();
  };
  const transform = await load<Transform>(data.transform);
  const maker = new BatchMaker({
    formats: await Promise.all(data.formats.map(formatFrom)),
    transform:
      transform &&
      ((sample, context) => {
        endIfAsked();
        return transform(sample, context);
      }),
    collate: await load<Collate>(data.collate),
  });
  const answer = (message: ThreadMessage, transfer: readonly ArrayBuffer[] = []) =>
    port.postMessage(message, transfer);
  Atomics.store(data.state, SERVES, 1);
  port.on('message', (message: MakeMessage | EndMessage) => {
    endIfAsked();
    if (message === 'end') return;
    const { id, task, dropped } = message;
    for (const block of dropped) maker.drop(block);
    maker.make(task).then(
      (made) => {
        const { data, transfer } = toSend(made.data, made.isOwn);
        const body = { ...made, data, damage: made.damage.map(bodyOf) };
        answer({ type: 'made', id, made: body }, transfer);
      },
      (error: unknown) => answer({ type: 'failed', id, error: errorBody(error) }),
    );
  });
  answer({ type: 'ready' });
}

function bodyOf({ index, error }: { readonly index: number; readonly error: unknown }) {
  return { index, error: errorBody(error) };
}

async function formatFrom({
  name,
  options,
  madeBy,
}: ThreadData['formats'][number]): Promise<SampleFormat<unknown>> {
  if (madeBy === undefined) return formatOf(name, options);
  const make = await load<(options: unknown) => SampleFormat<unknown>>(madeBy);
  return make(options);
}

/** @throws If the module cannot be loaded, or has no such function. */
export async function load<T>(given: ModuleFunction): Promise<T>;
export async function load<T>(given: ModuleFunction | undefined): Promise<T | undefined>;
export async function load<T>(given: ModuleFunction | undefined): Promise<T | undefined> {
  if (given === undefined) return undefined;
  const { module, export: name = 'default' } = given;
  const url =
    typeof module === 'string' && path.isAbsolute(module) ? pathToFileURL(module).href : String(module);
  const exported = (await import(url)) as Readonly<Record<string, unknown>>;
  const { [name]: found } = exported;
  if (typeof found === 'function') return found as T;
  throw new Error(
    `${url} has no function "${name}"; it exports ${Object.keys(exported).join(', ') || 'nothing'}.`,
  );
}
