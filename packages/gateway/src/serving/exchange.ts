import type { IncomingMessage, ServerResponse } from 'node:http';
import { BATCHES_HERE } from '../batches/batch-request.js';
import { errorAnswer, lengthHeaders, type Answer } from '../protocol/answers.js';
import { S3Error } from '../protocol/s3-error.js';
import type { OpenObject } from '../reads/read-storage.js';
import type { AccessLogEntry } from './access-log.js';
import { Sender, type SenderParts } from './sender.js';

/** The result of an operation. */
export interface Outcome {
  readonly answer: Answer<unknown>;
  /** The bytes of an object that form the body. */
  readonly body?: OpenObject | undefined;
  /** Where an object is, for an answer that has none of its bytes. */
  readonly from?: string | undefined;
}

/** A request as far as it was understood, for the log. */
export type Understood = Pick<AccessLogEntry, 'operation' | 'bucket' | 'key'>;

/** The dependencies of an exchange. */
export interface ExchangeParts extends Pick<SenderParts, 'clock' | 'stallMs'> {
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether the connection ends with this answer. */
  readonly isLast: () => boolean;
  /** Carries out the request. First reports what it has understood. */
  readonly carryOut: (understood: (what: Understood) => void, signal: AbortSignal) => Promise<Outcome>;
}

/** One request and its answer. */
export class Exchange {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #parts: ExchangeParts;
  readonly #gone = new AbortController();
  readonly #sender: Sender;
  readonly #begun: number;
  #beganMs = 0;

  constructor(message: IncomingMessage, response: ServerResponse, parts: ExchangeParts) {
    this.#message = message;
    this.#response = response;
    this.#parts = parts;
    const { clock, stallMs } = parts;
    this.#begun = clock.now();
    this.#sender = new Sender({ response, gone: this.#gone.signal, clock, stallMs });
  }

  /** Carries out the request and sends the answer. Resolves to the log entry, and never rejects. */
  async run(): Promise<AccessLogEntry> {
    const { now, requestId, carryOut } = this.#parts;
    const time = new Date(now()).toISOString();
    const client = this.#message.socket.remoteAddress ?? '';
    const leave = () => {
      if (!this.#response.writableFinished) this.#gone.abort(new Error('The connection has ended.'));
    };
    this.#response.once('close', leave);
    // The callbacks of its writes report the same errors.
    this.#response.on('error', () => undefined);
    if (this.#message.socket.destroyed) leave();
    let understood: Understood = { operation: undefined, bucket: '', key: '' };
    let body: OpenObject | undefined;
    let from: string | undefined;
    let failure: unknown;
    try {
      const outcome = await carryOut((what) => (understood = what), this.#gone.signal);
      ({ body, from } = outcome);
      await this.#send(outcome);
    } catch (error) {
      failure = error;
      await this.#sendFailure(error);
    } finally {
      this.#sender.close();
      this.#response.off('close', leave);
    }
    return {
      time,
      requestId,
      client,
      method: this.#message.method ?? '',
      ...understood,
      status: this.#response.statusCode,
      ...toldOf(failure),
      bytes: this.#sender.bytes,
      from: body?.from ?? from,
      beganMs: this.#beganMs,
      ms: this.#passed(),
      isBroken: !this.#response.writableFinished,
    };
  }

  get #isHead(): boolean {
    return this.#message.method === 'HEAD';
  }

  async #send({ answer, body, from }: Outcome): Promise<void> {
    if (body === undefined) {
      this.#writeHead(answer, from);
      if (answer.body !== undefined && !this.#isHead) await this.#sender.send(answer.body);
      await this.#sender.end();
      return;
    }
    const pieces = body[Symbol.asyncIterator]();
    try {
      // An error of the first piece can still become an answer.
      let piece = await pieces.next();
      this.#writeHead(answer, body.from);
      for (; piece.done !== true; piece = await pieces.next()) {
        const { value } = piece;
        await this.#sender.send(value, this.#sender.bytes + value.byteLength === answer.contentLength);
      }
      await this.#sender.end();
    } finally {
      await pieces.return?.();
    }
  }

  /** An answer that has begun can no longer become an error, and must not look complete. */
  async #sendFailure(error: unknown): Promise<void> {
    if (this.#response.headersSent || this.#gone.signal.aborted) {
      this.#response.destroy();
      return;
    }
    const answer = errorAnswer(asS3Error(error), this.#parts.requestId);
    await this.#send({ answer }).catch(() => this.#response.destroy());
  }

  #writeHead(answer: Answer<unknown>, from: string | undefined): void {
    const { now, requestId, isLast } = this.#parts;
    this.#beganMs = this.#passed();
    const headers = [
      ...['Date', new Date(now()).toUTCString(), 'Server', 'tiered', 'x-amz-request-id', requestId],
      ...['Server-Timing', `tiered;dur=${this.#beganMs}`],
      ...BATCHES_HERE,
      ...(from === undefined ? [] : ['x-tiered-from', from]),
      ...(isLast() ? ['Connection', 'close'] : []),
    ];
    this.#response.sendDate = false;
    this.#response.writeHead(answer.status, headers.concat(answer.headers, lengthHeaders(answer)));
  }

  /** Milliseconds since the exchange began, to a tenth. */
  #passed(): number {
    return Math.round((this.#parts.clock.now() - this.#begun) * 10) / 10;
  }
}

function asS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  return new S3Error(500, 'InternalError', 'We encountered an internal error. Please try again.');
}

function toldOf(failure: unknown): Pick<AccessLogEntry, 'error' | 'cause'> {
  if (failure === undefined) return {};
  if (!(failure instanceof S3Error))
    return { error: 'InternalError', cause: failure instanceof Error ? failure.message : 'unknown' };
  const { code, cause } = failure;
  return { error: code, ...(cause instanceof Error && { cause: cause.message }) };
}
