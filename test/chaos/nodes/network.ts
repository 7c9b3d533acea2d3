import type { Clock, Random } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';
import type { Transport } from '@tiered/cluster/internal';
import type { Answer } from '../../../packages/s3-adapter/src/http/answers.js';
import type { Sink } from '../../../packages/s3-adapter/src/http/exchange.js';
import { broken } from '../../../packages/s3-adapter/src/http/failure.js';
import type { SimulatedProcess } from '../simulated/process.js';
import { PeerLink } from './peer-link.js';
import { PeerServer } from './peer-server.js';
import type { Weather } from './steps.js';

const FAIR: Weather = { slowMs: 3, lose: 0, break: 0, flip: 0 };

/** Nothing that follows ever happens. */
const NEVER = new Promise<never>(() => undefined);
/** Why the other side learns that nobody waits any more. */
const OVER = new Error('The connection is closed.');

/** A process at its machine. */
interface Client {
  readonly host: number;
  readonly process: SimulatedProcess;
  /** Told of what others ask it for. */
  readonly onAsked: (key: string) => void;
}

/**
 * What nodes reach each other by. Each piece of an answer takes a while, and may be lost, break the
 * connection, or have a bit turned over. Links between machines are cut, so that nothing comes through and
 * nobody is told.
 */
export class Network {
  weather: Weather = FAIR;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onFault: (kind: string) => void;
  readonly #servers = new Map<string, PeerServer>();
  readonly #cuts = new Set<string>();
  #started = 0;

  constructor(clock: Clock, random: Random, onFault: (kind: string) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#onFault = onFault;
  }

  /** The way of one process to the others. */
  transportOf(client: Client): Transport {
    return {
      listen: async (hierarchy, fetches) => {
        this.#started += 1;
        const url = `http://node-${client.host}:${this.#started}`;
        const server = new PeerServer({ hierarchy, fetches, clock: client.process.clock, ...client });
        this.#servers.set(url, server);
        client.process.onKill(() => server.dispose());
        const close = async () => {
          this.#servers.delete(url);
          await server.close();
        };
        return { url, close };
      },
      connect: (url) =>
        new PeerLink(url, (body, sink, signal) => this.#exchange(client, url, body, sink, signal)),
    };
  }

  /** From now on nothing gets from one machine to the other, in neither direction. */
  cut(one: number, other: number): void {
    this.#cuts.add(linkOf(one, other));
  }

  /** All links are whole, and nothing is lost. */
  heal(): void {
    this.#cuts.clear();
    this.weather = FAIR;
  }

  dispose(): void {
    for (const server of this.#servers.values()) server.dispose();
  }

  async #exchange(
    client: Client,
    url: string,
    body: Uint8Array,
    sink: Sink,
    signal: AbortSignal | undefined,
  ): Promise<Pick<Answer, 'status'>> {
    const over = new AbortController();
    const stopListening = onAbort(signal, (reason) => over.abort(reason));
    client.process.onKill(() => over.abort(OVER));
    try {
      await raceAbort(this.#carry(client, url, { body, sink }, over), over.signal);
      return { status: 200 };
    } finally {
      stopListening();
      over.abort(OVER);
      await client.process.gate();
    }
  }

  async #carry(
    client: Client,
    url: string,
    { body, sink }: { readonly body: Uint8Array; readonly sink: Sink },
    over: AbortController,
  ): Promise<void> {
    const { signal } = over;
    const server = this.#servers.get(url);
    if (server === undefined) throw broken('ECONNREFUSED', 'nobody listens there');
    await this.#hop(client.host, server.host, signal);
    if (server.process.state === 'killed') throw broken('ECONNREFUSED', 'nobody listens there');
    // As its kernel says, if that can be heard.
    const reset = () => {
      if (!this.#isCut(client.host, server.host)) over.abort(broken('ECONNRESET', 'the other side is gone'));
    };
    server.process.onKill(reset);
    const stopListening = onAbort(server.closing, reset);
    try {
      await raceAbort(server.process.gate(), signal);
      let isFirst = true;
      for await (const piece of server.answer(body, signal)) {
        await this.#send(piece, client, server, signal, (bytes) => {
          if (isFirst) sink.start(200, { 'content-type': 'application/x-tar' });
          isFirst = false;
          sink.data(bytes);
        });
      }
      sink.end();
    } catch (error) {
      signal.throwIfAborted();
      throw broken('ECONNRESET', `the answer broke off: ${String(error)}`);
    } finally {
      stopListening();
    }
  }

  /** Sends a piece of an answer. */
  async #send(
    piece: Uint8Array,
    client: Client,
    server: PeerServer,
    signal: AbortSignal,
    deliver: (bytes: Buffer) => void,
  ): Promise<void> {
    const bytes = Buffer.from(piece);
    if (this.#meets('flip')) {
      const at = this.#random.below(bytes.byteLength);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << this.#random.below(8));
    }
    const isBroken = this.#meets('break');
    const length = isBroken ? this.#random.below(bytes.byteLength) : bytes.byteLength;
    await this.#hop(server.host, client.host, signal);
    await raceAbort(client.process.gate(), signal);
    signal.throwIfAborted();
    deliver(bytes.subarray(0, length));
    if (isBroken) throw broken('ECONNRESET', 'the connection broke');
  }

  /** What is sent takes a while, or never arrives. */
  async #hop(from: number, to: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(this.#random.below(1 + this.weather.slowMs), signal);
    const isCut = this.#isCut(from, to);
    if (isCut) this.#onFault('network cut');
    if (isCut || this.#meets('lose')) await raceAbort(NEVER, signal);
  }

  #meets(kind: 'lose' | 'break' | 'flip'): boolean {
    if (this.#random.below(100) >= this.weather[kind]) return false;
    this.#onFault(`network ${kind}`);
    return true;
  }

  #isCut(one: number, other: number): boolean {
    return this.#cuts.has(linkOf(one, other));
  }
}

function linkOf(one: number, other: number): string {
  return [one, other].sort().join();
}
