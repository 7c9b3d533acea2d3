import type { IncomingHttpHeaders } from 'node:http';
import { onAbort } from '@tiered/core/internal';
import type { Dispatcher } from 'undici';
import { failureOf, LARGEST_ANSWER_BYTES, type Answer, type Condition } from './answers.js';
import { connectionFailure, wrongAnswer, type Failure } from './failure.js';
import type { Pace } from './pace.js';

/** Receives the body of a successful answer. An error that it throws becomes the error of the request. */
export interface Sink {
  /** Called with the head of the answer, before its body. */
  start(status: number, headers: IncomingHttpHeaders): void;
  /**
   * Takes bytes, which belong to the connection again afterwards. Returns false if the rest is not needed.
   */
  data(chunk: Buffer): boolean;
  /** Called when the body is complete. */
  end(): void;
}

type Controller = Dispatcher.DispatchController;

/** Options of an `Exchange`. */
export interface ExchangeOptions {
  /** The condition of the request. */
  readonly condition: Condition | undefined;
  /** Most bytes of a body without a sink. */
  readonly answerBytes: number;
  /** Checks the rate of the body. */
  readonly pace: Pace;
}

/**
 * One request and its answer. Settles once. After that no byte reaches the sink, even after an abort, because
 * the sink's memory may be in use elsewhere again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Resolves when the answer is complete. Rejects with a `Failure`, or with an error that the sink threw. */
  readonly answer: Promise<Answer>;
  readonly #sink: Sink | undefined;
  readonly #options: ExchangeOptions;
  readonly #stopListening: () => void;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: unknown) => void;
  #controller: Controller | undefined;
  #settled = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #collected: Buffer[] = [];
  #collectedBytes = 0;

  constructor(sink: Sink | undefined, signal: AbortSignal | undefined, options: ExchangeOptions) {
    this.#sink = sink;
    this.#options = options;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stopListening = onAbort(signal, (reason) => this.#fail(reason));
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(LET_GO);
    else this.#options.pace.start();
  }

  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#settled) return;
    if (status < 200) {
      this.#guarded(() => this.#options.pace.announced());
      return;
    }
    this.#status = status;
    this.#headers = headers;
    this.#options.pace.start();
    this.#guarded(() => {
      if (this.#isForSink) this.#sink?.start(status, headers);
    });
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    if (this.#settled) return;
    this.#guarded(() => {
      if (!this.#isForSink) this.#collect(chunk);
      else if (this.#sink?.data(chunk) === false) this.#succeed(true);
      if (!this.#settled) this.#options.pace.took(chunk.byteLength);
    });
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#guarded(() => {
      if (this.#status >= 300) throw this.#failure();
      if (this.#isForSink) this.#sink?.end();
      this.#succeed(false);
    });
  }

  onResponseError(_: Controller, error: Error): void {
    if (!this.#settled) this.#fail(connectionFailure(error));
  }

  get #isForSink(): boolean {
    return this.#sink !== undefined && this.#status < 300;
  }

  get #answer(): Answer {
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#collected) };
  }

  #collect(chunk: Buffer): void {
    const isError = this.#status >= 300;
    this.#collectedBytes += chunk.byteLength;
    // Each chunk has memory of its own.
    this.#collected.push(chunk);
    if (this.#collectedBytes <= (isError ? LARGEST_ANSWER_BYTES : this.#options.answerBytes)) return;
    // An error this long is a page for people. Its status says enough.
    throw isError
      ? this.#failure()
      : wrongAnswer(this.#status, 'BodyTooLarge', 'the answer is larger than any of S3; check the endpoint');
  }

  #failure(): Failure {
    return failureOf(this.#answer, this.#options.condition);
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#fail(error);
    }
  }

  #succeed(hasRest: boolean): void {
    this.#settled = true;
    this.#stopListening();
    this.#resolve(this.#answer);
    if (hasRest) this.#controller?.abort(LET_GO);
  }

  #fail(error: unknown): void {
    this.#settled = true;
    this.#stopListening?.();
    this.#reject(error);
    this.#controller?.abort(LET_GO);
  }
}

/** Why a connection is abandoned. Never shown. */
const LET_GO = new Error('The rest of the answer is not needed.');
