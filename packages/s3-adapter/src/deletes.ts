import { createHash } from 'node:crypto';
import type { Clock } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import { LARGEST_LIST_BYTES, type Answer } from './answers.js';
import type { S3Client } from './client.js';
import { Failure, wrongAnswer } from './failure.js';
import { escapeXml, fitsXml, readLeavesInTurns, type LeafTaker } from './xml.js';

const MOST_KEYS = 1000;
/** Swift takes 10 ms for each key of a batch, and some times that when it has several. */
const WORK_MS_PER_KEY = 50;
/** How servers answer that do not know DeleteObjects. */
const REFUSED = new Set([400, 405, 501]);

/** Deletes objects; those of one turn of the event loop together, by one request for up to 1000 of them. */
export class Deletes {
  readonly #client: S3Client;
  readonly #clock: Clock;
  #gathering: { readonly keys: Set<string>; readonly deleted: Promise<ReadonlySet<string>> } | undefined;
  #canBatch = true;

  constructor(client: S3Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Deletes an object; a missing one is no error. */
  async delete(key: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.#canBatch && fitsXml(key)) {
      const deleted = await raceAbort(this.#gather(key), signal);
      if (deleted.has(key)) return;
    }
    // Alone, or the batch could not delete it: then the answer for this one tells why.
    await this.#client.request({ method: 'DELETE', key }, signal).catch((error: unknown) => {
      if (!(error instanceof Failure && error.details.means === 'TIERED_NOT_FOUND')) throw error;
    });
  }

  /** Adds a key to the batch of this turn; gives the keys that the batch deleted. */
  #gather(key: string): Promise<ReadonlySet<string>> {
    if (this.#gathering === undefined || this.#gathering.keys.size >= MOST_KEYS) {
      const keys = new Set<string>();
      this.#gathering = { keys, deleted: this.#send(keys) };
    }
    this.#gathering.keys.add(key);
    return this.#gathering.deleted;
  }

  async #send(keys: Set<string>): Promise<ReadonlySet<string>> {
    await this.#clock.turn();
    if (this.#gathering?.keys === keys) this.#gathering = undefined;
    if (keys.size === 1) return new Set();
    try {
      const failed = await this.#sendBatch(keys);
      return new Set([...keys].filter((key) => !failed.has(key)));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (REFUSED.has(error.details.status ?? 0)) this.#canBatch = false;
      return new Set();
    }
  }

  /** One DeleteObjects; gives the keys that it could not delete. */
  async #sendBatch(keys: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const objects = [...keys].map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
    const body = Buffer.from(
      `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects}</Delete>`,
    );
    const headers = {
      'content-type': 'application/xml',
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    return this.#client.retry(undefined, async () => {
      const workMs = keys.size * WORK_MS_PER_KEY;
      const query = { delete: '' };
      const request = {
        ...{ method: 'POST', query, headers, body, workMs },
        answerBytes: LARGEST_LIST_BYTES,
      } as const;
      const answer = await this.#client.send(request, undefined, undefined);
      return failedKeys(answer, this.#clock);
    });
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
    throw wrongAnswer(status, 'MalformedResult', 'the answer is none of DeleteObjects; check the endpoint');
  }
}
