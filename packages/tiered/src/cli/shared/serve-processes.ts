import type { Clock } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import { WatchServer } from '@tiered/gateway/internal';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { within } from '../../within.js';
import { ProgramEnded } from '../failure.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { metricsOptions, type ServeOptions } from './gateway.js';
import { portTaken } from './port-taken.js';
import { ServeMetrics } from './serve-metrics.js';
import { ServeProcess, type ProcessEnd } from './serve-process.js';
import { readyText, summaryText, type ServedFacts, type ServedTotals } from './served-text.js';

/** The pause before a process is replaced. It doubles with each process that does not run for long. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
const LONG_MS = 60_000;
/** Gateways leave answers ten seconds to end, and hierarchies then end what they write. */
const END_MS = 20_000;

/**
 * Serves by several processes until a signal ends it. This one only starts the others and passes connections
 * to them. One that ends is replaced; one that cannot start at the beginning ends the command.
 */
export async function serveByProcesses(host: CommandHost, options: ServeOptions): Promise<void> {
  await untilInterrupted(host.clock, async (signal) => {
    await using processes = new ServeProcesses(host, options);
    const facts = await raceAbort(processes.start(), signal);
    await using watch = await watchServer(processes, options);
    host.write(readyText({ ...facts, metricsEndpoint: watch.endpoint }, options.json));
    if (!signal.aborted) await once(signal, 'abort');
    await processes.end();
    host.terminal.write(summaryText(processes.totals, processes.lost));
  });
}

/** The one port for those who watch all processes. */
async function watchServer(
  processes: ServeProcesses,
  options: ServeOptions,
): Promise<AsyncDisposable & { readonly endpoint: string | undefined }> {
  const asked = metricsOptions(options);
  if (asked === undefined) return { endpoint: undefined, [Symbol.asyncDispose]: async () => undefined };
  const server = await WatchServer.start({
    host: options.host,
    port: asked.port,
    token: asked.token,
    metrics: () => processes.metrics(),
    isReady: () => processes.isReady,
  }).catch((error: unknown) => {
    throw portTaken(error);
  });
  return { endpoint: server.endpoint, [Symbol.asyncDispose]: () => server.close() };
}

/** The processes that serve at one port, each replaced when it ends. */
class ServeProcesses implements AsyncDisposable {
  readonly totals: ServedTotals[] = [];
  /** Processes that did not say what they did. */
  lost = 0;
  readonly #clock: Clock;
  readonly #terminal: CommandHost['terminal'];
  readonly #options: ServeOptions;
  readonly #manifests = fs.mkdtempSync(path.join(os.tmpdir(), `tiered-serve-${process.pid}-`));
  readonly #running = new Set<ServeProcess>();
  readonly #metrics: ServeMetrics;
  readonly #ending = new AbortController();
  readonly #kept: Promise<void>[] = [];
  readonly #endAtOnce = () => {
    for (const process of this.#running) process.kill();
    fs.rmSync(this.#manifests, { recursive: true, force: true });
  };
  #port: number;
  #endpoint = '';
  #ended: Promise<void> | undefined;

  constructor({ clock, terminal }: CommandHost, options: ServeOptions) {
    this.#clock = clock;
    this.#terminal = terminal;
    this.#options = options;
    this.#port = options.port;
    this.#metrics = new ServeMetrics(clock, options.processes);
    // A second signal ends this process.
    process.once('exit', this.#endAtOnce);
  }

  get isReady(): boolean {
    const ready = [...this.#running].filter((process) => process.isReady);
    return !this.#ending.signal.aborted && ready.length === this.#options.processes;
  }

  metrics(): Promise<string> {
    return this.#metrics.text([...this.#running]);
  }

  /**
   * Resolves when all processes serve. The first one lists the sources, for all others.
   * @throws ProgramEnded if one ends before, and has said why.
   */
  async start(): Promise<ServedFacts> {
    const first = this.#begin();
    const facts = await readyOf(first);
    this.#endpoint = facts.endpoint;
    this.#ending.signal.throwIfAborted();
    const others = Array.from({ length: this.#options.processes - 1 }, () => this.#begin());
    const all = [facts, ...(await Promise.all(others.map(readyOf)))];
    this.#ending.signal.throwIfAborted();
    for (const process of [first, ...others]) this.#kept.push(this.#keep(process));
    return { ...facts, processes: all.flatMap(({ processes }) => processes) };
  }

  /** Ends all processes, in order if they can, and waits for them. Idempotent. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #end(): Promise<void> {
    this.#ending.abort(new Error('The command ends.'));
    const running = [...this.#running];
    for (const process of running) process.end();
    const allEnded = Promise.all(running.map(({ ended }) => ended));
    await within({ clock: this.#clock, timeoutMs: END_MS }, () => allEnded).catch(() => {
      for (const process of this.#running) process.kill();
    });
    await allEnded;
    await Promise.all(this.#kept);
    process.off('exit', this.#endAtOnce);
    this.#endAtOnce();
  }

  /** Replaces a process when it ends, and that one, and so on until the end. */
  async #keep(process: ServeProcess): Promise<void> {
    const { signal } = this.#ending;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const began = this.#clock.now();
      const end = await process.ended;
      if (signal.aborted) return;
      pauseMs = this.#clock.now() - began < LONG_MS ? pauseMs : FIRST_PAUSE_MS;
      this.#tell(`process ${process.pid} ${endedText(end)}; another one starts in ${pauseMs / 1000} s`);
      await this.#clock.sleep(pauseMs, signal).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      if (signal.aborted) return;
      process = this.#begin();
      void this.#greet(process);
    }
  }

  async #greet(process: ServeProcess): Promise<void> {
    const facts = await process.ready;
    if (facts === undefined || this.#ending.signal.aborted) return;
    if (facts.endpoint === this.#endpoint) this.#tell(`process ${process.pid} serves`);
    // The last one that held a free port ended meanwhile. The next one asks for that port.
    else process.kill();
  }

  #begin(): ServeProcess {
    // Processes that listen at a free port (0) share it as long as there are any.
    if (this.#endpoint !== '' && this.#running.size === 0) this.#port = Number(new URL(this.#endpoint).port);
    const { processes } = this.#options;
    const seat = { processes, port: this.#port, manifests: this.#manifests };
    const process = new ServeProcess(seat, this.#terminal);
    this.#running.add(process);
    void process.ended.then(async () => {
      this.#running.delete(process);
      if (process.totals === undefined) this.lost += 1;
      else this.totals.push(process.totals);
      await this.#metrics.ended(process);
    });
    return process;
  }

  #tell(line: string): void {
    this.#terminal.write(`${line}\n`);
  }
}

/** Waits until a process serves. Its own message says why it does not. */
async function readyOf(process: ServeProcess): Promise<ServedFacts> {
  const facts = await process.ready;
  if (facts !== undefined) return facts;
  const end = await process.ended;
  if (end.code !== null && end.code > 0) throw new ProgramEnded(end.code);
  throw new Error(`process ${process.pid} ${endedText(end)} before it served`);
}

function endedText({ code, signal, error }: ProcessEnd): string {
  if (error !== undefined) return `could not be started (${error.message})`;
  return `ended (${signal ?? `exit code ${code}`})`;
}
