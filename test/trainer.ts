import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { KillPoint } from './children/killing-driver.js';
import type { Request, Said } from './children/train-on-request.js';
import type { Place } from './training.js';

/** What a process knows when it has done what it was asked for. */
export type Answer = Said & { say: 'done' };

/** A process that trains on a place, and does what it is told. */
export class Trainer {
  readonly pid: number | undefined;
  readonly faults: string[] = [];
  readonly exited: Promise<unknown[]>;
  readonly started: Promise<Answer>;
  /** Called with every message, while the process goes on. */
  onSaid: (said: Said) => unknown = () => undefined;
  readonly #child: ChildProcess;
  #answer: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  /** @param kill When it is to kill itself, if it is. */
  constructor(place: Place, kill?: KillPoint) {
    const script = path.join(import.meta.dirname, 'children/train-on-request.ts');
    const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(place)];
    if (kill !== undefined) args.push(JSON.stringify(kill));
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.pid = this.#child.pid;
    this.started = this.#next();
    this.exited = once(this.#child, 'exit');
    this.#child.on('message', (said: Said) => this.#hear(said));
    this.#child.on('exit', () =>
      this.#answer?.reject(new Error('a process ended in the middle of its work')),
    );
  }

  ask(request: Request): Promise<Answer> {
    this.#child.send(request);
    return this.#next();
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) => (this.#answer = { resolve, reject }));
  }

  #hear(said: Said): void {
    if (said.say === 'fault') this.faults.push(said.key);
    this.onSaid(said);
    if (said.say === 'done') this.#answer?.resolve(said);
  }
}
