import { createHash } from 'node:crypto';
import type { Clock } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';
import { LARGEST_LIST_BYTES, type Answer } from '../http/answers.js';
import type { S3Client } from '../http/client.js';
import { Failure, wrongAnswer } from '../http/failure.js';
import { escapeXml, fitsXml, readLeavesInTurns, type LeafTaker } from '../http/xml.js';

const MOST_KEYS = 1000;
/** Swift takes 10 ms for each key of a batch, and a multiple of that when it has several batches. */
const WORK_MS_PER_KEY = 50;
/** The statuses of servers that do not support DeleteObjects. */
const REFUSED = new Set([400, 405, 501]);

/** Keys that are deleted together. Each stays in the batch while a caller still wants it deleted. */
class Batch {
  readonly #wanted = new Map<string, number>();
  readonly #end = new AbortController();
  /** Resolves to the deleted keys when there is nothing more to do. */
  readonly deleted: Promise<ReadonlySet<string>>;
  /** The attempt in flight, and the keys that it has deleted. */
  attempt: Promise<ReadonlySet<string>> = Promise.resolve(new Set<string>());

  constructor(send: (batch: Batch) => Promise<ReadonlySet<string>>) {
    this.deleted = send(this);
  }

  get keys(): readonly string[] {
    return [...this.#wanted.keys()];
  }

  /** Aborts when no caller waits for the batch any more. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /**
   * Adds a key, and resolves to whether it was deleted. An abort removes the key again, or waits for the
   * request that contains it.
   */
  async delete(key: string, signal: AbortSignal | undefined): Promise<boolean> {
    this.#wanted.set(key, (this.#wanted.get(key) ?? 0) + 1);
    const stopListening = onAbort(signal, (reason) => this.#leave(key, reason));
    try {
      return (await raceAbort(this.deleted, signal)).has(key);
    } catch (error) {
      // A request that was sent is waited for. Otherwise it might delete an object that is written
      // afterwards.
      const deleted = await this.attempt.catch(() => new Set<string>());
      if (deleted.has(key)) return true;
      throw error;
    } finally {
      stopListening();
    }
  }

  #leave(key: string, reason: Error): void {
    const others = (this.#wanted.get(key) ?? 0) - 1;
    if (others > 0) this.#wanted.set(key, others);
    else this.#wanted.delete(key);
    if (this.#wanted.size === 0) this.#end.abort(reason);
  }
}

/** Deletes objects. Those of one turn of the event loop share one request for up to 1000. */
export class Deletes {
  readonly #client: S3Client;
  readonly #clock: Clock;
  #gathering: Batch | undefined;
  #canBatch = true;

  constructor(client: S3Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Deletes an object. A missing one is not an error. An abort waits for the answer to a request that was
   * sent.
   */
  async delete(key: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.#canBatch && fitsXml(key) && (await this.#gather().delete(key, signal))) return;
    // Alone, or because the batch could not delete it. Then the answer to this request says why.
    const request = { method: 'DELETE', key, isAwaited: true } as const;
    await this.#client.request(request, signal).catch((error: unknown) => {
      if (!(error instanceof Failure && error.details.means === 'TIERED_NOT_FOUND')) throw error;
    });
  }

  /** The batch of this turn. */
  #gather(): Batch {
    const gathering = this.#gathering;
    // A batch that every caller has left has ended.
    if (gathering === undefined || gathering.signal.aborted || gathering.keys.length >= MOST_KEYS)
      return (this.#gathering = new Batch((batch) => this.#send(batch)));
    return gathering;
  }

  async #send(batch: Batch): Promise<ReadonlySet<string>> {
    await this.#clock.turn();
    if (this.#gathering === batch) this.#gathering = undefined;
    if (batch.keys.length <= 1) return new Set();
    try {
      return await this.#client.retry(batch.signal, () => {
        batch.attempt = this.#attempt(batch);
        return batch.attempt;
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (REFUSED.has(error.details.status ?? 0)) this.#canBatch = false;
      return new Set();
    }
  }

  /** Makes one DeleteObjects for the keys still to be deleted. Returns the deleted keys. */
  async #attempt({ keys, signal }: Batch): Promise<ReadonlySet<string>> {
    const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
    const body = Buffer.from(
      `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects}</Delete>`,
    );
    const headers = {
      'content-type': 'application/xml',
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    const workMs = keys.length * WORK_MS_PER_KEY;
    const request = {
      ...{ method: 'POST', query: { delete: '' }, headers, body, workMs },
      answerBytes: LARGEST_LIST_BYTES,
      isAwaited: true,
    } as const;
    const answer = await this.#client.send(request, undefined, signal);
    const failed = await failedKeys(answer, this.#clock);
    return new Set(keys.filter((key) => !failed.has(key)));
  }
}

async function failedKeys({ status, body }: Answer, clock: Clock): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const take: LeafTaker = ([root, child, name], text) => {
    if (root !== 'DeleteResult') throw new Error('Not a DeleteResult');
    if (child === 'Error' && name === 'Key') failed.add(text);
  };
  try {
    await readLeavesInTurns(body, take, { clock, signal: undefined });
    return failed;
  } catch {
    throw wrongAnswer(
      status,
      'MalformedResult',
      'the answer is not one of DeleteObjects; check the endpoint',
    );
  }
}
