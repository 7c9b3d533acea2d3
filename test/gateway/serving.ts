import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

const MAIN = path.join(import.meta.dirname, '../../packages/tiered/bin/from-sources.js');

/** What the command says when clients can come. */
export interface Ready {
  readonly endpoint: string;
  readonly metricsEndpoint: string;
  readonly processes: readonly number[];
}

/** How the command ended. */
export interface Ended {
  readonly code: number | null;
  readonly messages: readonly string[];
}

/** `tiered serve` by two processes, as a command in a process group of its own. */
export class Serving {
  readonly ended: Promise<Ended>;
  readonly #child;
  readonly #messages: string[] = [];
  readonly #events = new EventEmitter();
  readonly #first: Promise<string>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const node = ['--conditions=tiered-source', '--import', import.meta.resolve('tsx'), MAIN];
    const command = ['serve', ...args, '--processes', '2', '--metrics-port', '0', '--json'];
    this.#child = spawn(process.execPath, [...node, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      detached: true,
    });
    const closed = once(this.#child, 'close') as Promise<[number | null]>;
    createInterface(this.#child.stderr).on('line', (line) => {
      this.#messages.push(line);
      this.#events.emit('message');
    });
    this.#first = once(createInterface(this.#child.stdout), 'line').then(([line]) => String(line));
    this.ended = closed.then(([code]) => ({ code, messages: this.#messages }));
    onTestFinished(async () => {
      if (this.#child.exitCode === null && this.#child.signalCode === null) this.kill('SIGTERM');
      await closed;
    });
  }

  async ready(): Promise<Ready> {
    const line = await Promise.race([this.#first, this.ended]);
    if (typeof line !== 'string') throw new Error(line.messages.join('\n'));
    return JSON.parse(line) as Ready;
  }

  /** Waits for a message. */
  async said(what: RegExp): Promise<void> {
    while (!this.#messages.some((line) => what.test(line))) await once(this.#events, 'message');
  }

  /** What it has left in the directory of temporary files. */
  async left(): Promise<readonly string[]> {
    const names = await readdir(os.tmpdir());
    return names.filter((name) => name.startsWith(`tiered-serve-${this.#child.pid}-`));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As a terminal does it: all processes get the signal. */
  killAll(signal: NodeJS.Signals): void {
    process.kill(-(this.#child.pid ?? 0), signal);
  }
}
