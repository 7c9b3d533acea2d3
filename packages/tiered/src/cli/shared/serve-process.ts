import type { Clock } from '@tiered/core';
import type { GatewayMetrics } from '@tiered/gateway';
import cluster, { type Worker } from 'node:cluster';
import { createInterface } from 'node:readline';
import type { Terminal } from '../../progress.js';
import { within } from '../../within.js';
import { environmentOf, type FromSeat, type ServeSeat, type ToSeat } from './serve-seat.js';
import type { ServedFacts, ServedTotals } from './served-text.js';

/** Those who watch are not kept waiting for a process that is stopped, or computes. */
const ANSWER_MS = 1_000;

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly error?: Error;
}

/** One of several processes that serve together, as the process sees it that started it. */
export class ServeProcess {
  /** What it serves, once it does. Undefined if it ended before. */
  readonly ready: Promise<ServedFacts | undefined>;
  /** Its end, when all that it wrote has been passed on. */
  readonly ended: Promise<ProcessEnd>;
  readonly #worker: Worker;
  #facts: ServedFacts | undefined;
  #totals: ServedTotals | undefined;
  #question: Promise<GatewayMetrics> | undefined;
  #answer: ((metrics: GatewayMetrics) => void) | undefined;

  /** Starts a process that runs this command, with the same arguments. */
  constructor(seat: ServeSeat, terminal: Terminal) {
    // Connections of clients of S3 are kept: an even share of them is worth passing each on once. The system
    // by itself gives most of them to a few of the processes.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // Messages come through this process, so that lines of several processes stay whole.
    cluster.setupPrimary({ stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    const worker = cluster.fork(environmentOf(seat));
    this.#worker = worker;
    const { process: child } = worker;
    if (child.stderr !== null)
      createInterface({ input: child.stderr }).on('line', (line) => void terminal.write(`${line}\n`));
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal }));
      // Of messages to a process that has ended, too.
      worker.on('error', (error) => {
        if (child.pid === undefined) resolve({ code: null, signal: null, error });
      });
    });
    this.ready = new Promise((resolve) => {
      worker.on('message', (message: FromSeat) => this.#take(message, resolve));
      void this.ended.then(() => resolve(undefined));
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Whether it takes connections. */
  get isReady(): boolean {
    return this.#facts !== undefined;
  }

  /** What it did until its end. Undefined before, and if it did not end in order. */
  get totals(): ServedTotals | undefined {
    return this.#totals;
  }

  /** What its gateway tells those who watch. Undefined if it does not answer in time. */
  async metrics(clock: Clock): Promise<GatewayMetrics | undefined> {
    if (!this.isReady) return undefined;
    return within({ clock, timeoutMs: ANSWER_MS }, () => this.#ask()).catch(() => undefined);
  }

  /** Has it take no further request, and end when answers under way have had their time. */
  end(): void {
    this.#send({ kind: 'end' });
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #take(message: FromSeat, ready: (facts: ServedFacts) => void): void {
    switch (message.kind) {
      case 'ready':
        this.#facts = message.facts;
        ready(message.facts);
        break;
      case 'metrics':
        this.#answer?.(message.metrics);
        this.#question = undefined;
        break;
      case 'totals':
        this.#totals = message.totals;
    }
  }

  /** One question at a time, however long it takes. */
  #ask(): Promise<GatewayMetrics> {
    return (this.#question ??= new Promise((resolve) => {
      this.#answer = resolve;
      this.#send({ kind: 'metrics' });
    }));
  }

  #send(message: ToSeat): void {
    if (this.#worker.isConnected()) this.#worker.send(message);
  }
}
