import http from 'node:http';
import { pipeline } from 'node:stream/promises';
import { isTieredError } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { DataLoader, stack } from '@tiered/loader';
import { StagingBuffer } from '@tiered/prefetch';

/** Jobs at the same time. One more is refused. */
const MOST_JOBS = 2;

/**
 * Sends batches over HTTP: `GET /?seed=42&rank=1&ranks=4` answers with the samples of a job, one behind the
 * other. All jobs share one budget of memory. For clients that are trusted: it knows no passwords.
 */
export class TrainingService {
  readonly server = http.createServer((request, response) => {
    if (this.jobs.size === MOST_JOBS) return void response.writeHead(503).end('All jobs are taken.');
    const job = this.#run(request.url ?? '', response).finally(() => this.jobs.delete(job));
    this.jobs.add(job);
  });
  readonly jobs = new Set<Promise<void>>();
  readonly #samples: SampleSet<Uint8Array>;
  readonly #prefetch = { staging: new StagingBuffer({ memory: '64MiB' }) };

  constructor(samples: SampleSet<Uint8Array>) {
    this.#samples = samples;
  }

  async #run(url: string, response: http.ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const given = { collate: stack, prefetch: this.#prefetch, signal: gone.signal };
    try {
      await using loader = new DataLoader(this.#samples, { ...jobOf(url), ...given });
      await pipeline(async function* () {
        // The next batch is taken when the client has taken this one. What stack makes is not lent.
        for await (const { data } of loader) yield data.data;
      }, response);
    } catch (error) {
      if (isTieredError(error, 'TIERED_CONFIG_INVALID')) response.writeHead(400).end(error.message);
      else response.destroy();
    }
  }
}

/** What a client may choose. The loader checks the numbers. */
function jobOf(url: string) {
  const asked = new URL(url, 'http://localhost').searchParams;
  const of = (name: string, otherwise: number) => Number(asked.get(name) ?? otherwise);
  const [seed, epochs, batchSize] = [of('seed', 0), of('epochs', 1), of('batchSize', 32)];
  return { seed, epochs, batchSize, rank: of('rank', 0), ranks: of('ranks', 1) };
}
