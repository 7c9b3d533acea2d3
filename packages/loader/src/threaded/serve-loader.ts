import type { MessagePort } from 'node:worker_threads';
import type { Batch } from '../batches/batch.js';
import type { DataLoader } from '../data-loader.js';
import { errorBody } from '../workers/messages.js';
import { load } from '../workers/serve.js';
import { toSend } from '../workers/transfer.js';
import type { LoaderAnswer, LoaderRequest, LoaderThreadData } from './messages.js';

/**
 * The result of the function that makes a loader: the loader, and a function that closes what it reads from.
 */
export interface ThreadedLoader {
  readonly loader: DataLoader<never, never, unknown>;
  /** Closes the hierarchy, after the loader. */
  readonly close?: (() => Promise<void>) | undefined;
}

type Answer = (message: LoaderAnswer, transfer?: readonly ArrayBuffer[]) => void;

/** Makes a loader in this thread, and sends its batches on request. */
export async function serveLoader(port: MessagePort, { make, argument }: LoaderThreadData): Promise<void> {
  const answer: Answer = (message, transfer = []) => port.postMessage(message, transfer);
  let made: ThreadedLoader | undefined;
  let serving: Serving | undefined;
  const close = async () => {
    await made?.loader.close();
    await made?.close?.();
    // Exit even if the loader is still being made, which may take for ever.
    process.exit();
  };
  port.on('message', (request: LoaderRequest) => {
    if (request.type === 'close') void close();
    else if (request.type === 'take') serving?.take(request.batches);
    else if (made !== undefined) answer({ type: 'figures', id: request.id, figures: made.loader.figures() });
  });
  try {
    const makeLoader = await load<(argument: unknown) => Promise<ThreadedLoader>>(make);
    made = await makeLoader(argument);
    const { loader } = made;
    serving = new Serving(loader, answer);
    answer({ type: 'ready', batchesPerEpoch: loader.batchesPerEpoch, state: loader.stateDict() });
  } catch (error) {
    answer({ type: 'failed', error: errorBody(error) });
  }
}

/** Sends the requested number of batches, one after the other. */
class Serving {
  readonly #loader: ThreadedLoader['loader'];
  readonly #batches: AsyncIterator<Batch, void>;
  readonly #answer: Answer;
  #asked = 0;
  #isSending = false;

  constructor(loader: ThreadedLoader['loader'], answer: Answer) {
    this.#loader = loader;
    this.#batches = loader[Symbol.asyncIterator]();
    this.#answer = answer;
  }

  take(batches: number): void {
    this.#asked += batches;
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      for (; this.#asked > 0; this.#asked--) {
        const { value, done } = await this.#batches.next();
        if (done === true) {
          this.#answer({ type: 'over', state: this.#loader.stateDict() });
          return;
        }
        const { epoch, index, samples } = value;
        const { data, transfer } = toSend(value.data, value.isOwn);
        const state = this.#loader.stateDict();
        this.#answer({ type: 'batch', batch: { epoch, index, samples, data, state } }, transfer);
      }
      this.#isSending = false;
    } catch (error) {
      // The thread sends nothing after this.
      this.#answer({ type: 'failed', error: errorBody(error) });
    }
  }
}
