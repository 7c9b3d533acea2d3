import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { MemoryRecords } from '../src/registry/memory-registry.js';

/** A request for a batch, on its way to a broken peer. */
interface Asked {
  readonly response: ServerResponse;
  /** The keys that it asks for. */
  readonly keys: readonly string[];
  /** What a working peer answers, if it is asked for these keys. Default: those of the request. */
  readonly rightAnswer: (keys?: readonly string[]) => Promise<Buffer>;
}

/** Answers one request, as it should not. */
export type Answer = (asked: Asked) => Promise<void> | void;

interface Body {
  readonly in: readonly { readonly objname: string }[];
}

/** Sends a batch. */
export function send(response: ServerResponse, tar: Uint8Array): void {
  response.setHeader('content-type', 'application/x-tar').end(tar);
}

/** What a peer answers that works. */
export const right: Answer = async ({ response, rightAnswer }) => send(response, await rightAnswer());

/** A server that is in the registry as a worker, and answers as the test says. It ends with the test. */
export class BrokenPeer {
  /** How it answers. */
  answer: Answer;
  /** Requests that have come. */
  requests = 0;
  readonly #server = createServer();
  readonly #working: string;
  /** Called at the next request. */
  #onRequest: () => void = () => undefined;

  /** @param working The URL of a peer that works. Needs no token. */
  private constructor(working: string, answer: Answer) {
    this.#working = working;
    this.answer = answer;
    this.#server.on('request', (asked, response) => {
      void (async () => {
        const body = JSON.parse((await asked.toArray()).join('')) as Body;
        this.requests += 1;
        this.#onRequest();
        const keys = body.in.map(({ objname }) => objname);
        await this.answer({
          response,
          keys,
          rightAnswer: (wanted = keys) => this.#rightAnswer(asked.url ?? '', body, wanted),
        });
      })();
    });
  }

  static async start(working: string, answer: Answer): Promise<BrokenPeer> {
    const peer = new BrokenPeer(working, answer);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    onTestFinished(async () => {
      peer.#server.closeAllConnections();
      await new Promise((resolve) => peer.#server.close(resolve));
    });
    return peer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Says that it is a worker. */
  enter(records: MemoryRecords, rank: number, size: number): void {
    const record = { rank, url: this.url, share: true, plan: '', agreed: { size: `${size}` } };
    records.put({ slot: `rank-${rank}`, owner: 'broken', record, until: Infinity });
  }

  /** Resolves when the next request has come. */
  async isAsked(): Promise<void> {
    await new Promise<void>((resolve) => (this.#onRequest = resolve));
  }

  async #rightAnswer(url: string, body: Body, keys: readonly string[]): Promise<Buffer> {
    const items = keys.map((key) => ({ ...body.in[0], objname: key }));
    const wanted = Buffer.from(JSON.stringify({ ...body, in: items }));
    const headers = { 'x-tiered-etags': '1', 'x-tiered-sums': '1', 'content-length': wanted.byteLength };
    const relayed = request(this.#working + url, { headers }).end(wanted);
    const [response] = (await once(relayed, 'response')) as [IncomingMessage];
    return Buffer.concat(await response.toArray());
  }
}
