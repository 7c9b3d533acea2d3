import type { Clock } from '@tiered/core';
import { mergedMetrics, type GatewayMetrics } from '@tiered/gateway';
import { endedMetrics } from '@tiered/gateway/internal';
import { Counter, Gauge, Registry } from 'prom-client';
import type { ServeProcess } from './serve-process.js';

/** What several processes tell those who watch, as one text. */
export class ServeMetrics {
  readonly #clock: Clock;
  readonly #last = new Map<ServeProcess, GatewayMetrics>();
  readonly #registry = new Registry();
  readonly #states: Gauge<'state'>;
  readonly #endedCount: Counter;
  readonly #processes: number;
  /** What processes told that have ended. */
  #ended: GatewayMetrics = { own: [], shared: [] };
  /** Takes in one process after the other. */
  #takenIn: Promise<void> = Promise.resolve();
  #text: Promise<string> | undefined;

  constructor(clock: Clock, processes: number) {
    this.#clock = clock;
    this.#processes = processes;
    const registers = [this.#registry];
    this.#states = new Gauge({
      name: 'tiered_gateway_processes',
      help: 'Processes, by whether they answer, start, or are silent for a second; figures of silent ones are old.',
      labelNames: ['state'],
      registers,
    });
    this.#endedCount = new Counter({
      name: 'tiered_gateway_ended_processes_total',
      help: 'Processes that have ended. What they counted since they were last asked is lost.',
      registers,
    });
  }

  /** Asks all processes, for a second at most. Those who ask meanwhile get the same answer. */
  text(running: readonly ServeProcess[]): Promise<string> {
    return (this.#text ??= this.#ask(running).finally(() => (this.#text = undefined)));
  }

  /** Keeps what an ended process counted. */
  ended(process: ServeProcess): Promise<void> {
    this.#endedCount.inc();
    return (this.#takenIn = this.#takenIn.then(() => this.#takeIn(process)));
  }

  async #takeIn(process: ServeProcess): Promise<void> {
    const last = this.#last.get(process);
    if (last === undefined) return;
    this.#ended = await endedMetrics([this.#ended, last]);
    this.#last.delete(process);
  }

  async #ask(running: readonly ServeProcess[]): Promise<string> {
    const answered: ServeProcess[] = [];
    const ready = running.filter(({ isReady }) => isReady);
    await Promise.all(
      ready.map(async (process) => {
        const told = await process.metrics(this.#clock);
        if (told === undefined) return;
        // At once: it may end while another one is waited for.
        this.#last.set(process, told);
        answered.push(process);
      }),
    );
    this.#states.set({ state: 'answering' }, answered.length);
    this.#states.set({ state: 'silent' }, ready.length - answered.length);
    this.#states.set({ state: 'starting' }, this.#processes - ready.length);
    // Of what is shared, the first one is believed: one that has answered just now.
    const fresh = new Set(answered);
    const last = [...this.#last].sort(([a], [b]) => Number(fresh.has(b)) - Number(fresh.has(a)));
    const [ended, told] = [this.#ended, last.map(([, metrics]) => metrics)];
    const own = await this.#registry.getMetricsAsJSON();
    return mergedMetrics([...told, ended, { own, shared: [] }]);
  }
}
