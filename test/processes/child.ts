import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import type { Request, Said } from './children/use-tier.js';
import type { Place } from './place.js';

/** What a process knows when it has done what it was asked for. */
export type Answer = Extract<Said, { say: 'done' }>;
export type Fault = Extract<Said, { say: 'fault' }>;

/** In namespaces of its own, as a container: it sees no other process, host name or network. */
const CONTAINER = ['-p', '-u', '-m', '-n', '--fork', '--mount-proc', '--kill-child=SIGKILL'];

export interface ChildOptions {
  readonly inContainer?: boolean;
  /** A command that runs the program in its place, such as `sh -c 'ulimit ...; exec "$@"' sh`. */
  readonly through?: readonly string[];
}

/** A process that uses a tier, and does what it is told. */
export class Child {
  readonly said: Said[] = [];
  readonly exited: Promise<unknown[]>;
  readonly started: Promise<Answer>;
  readonly #child: ChildProcess;
  readonly #inContainer: boolean;
  readonly #listeners = new Set<() => void>();
  #answers: ((answer: Answer | Error) => void)[] = [];

  constructor(program: string, place: Place, { inContainer = false, through = [] }: ChildOptions = {}) {
    const command = [
      ...(inContainer ? ['unshare', ...CONTAINER] : []),
      ...through,
      process.execPath,
      program,
      JSON.stringify(place),
    ];
    this.#child = spawn(command[0] ?? '', command.slice(1), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#inContainer = inContainer;
    this.exited = once(this.#child, 'exit');
    this.started = this.#next();
    this.started.catch(() => undefined);
    this.#child.on('message', (said: Said) => this.#hear(said));
    this.#child.on('exit', () => this.#end());
  }

  get faults(): readonly Fault[] {
    return this.said.filter((one) => one.say === 'fault');
  }

  /** The number of the process itself, as it is here. */
  get pid(): number {
    const { pid } = this.#child;
    if (!this.#inContainer) return pid ?? 0;
    return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
  }

  ask(request: Request): Promise<Answer> {
    this.#child.send(request);
    return this.#next();
  }

  /** Asks, without an answer to come. */
  tell(request: Request): void {
    this.#child.send(request);
  }

  /** Resolves when so many more messages of a kind have come. */
  async hears(kind: Said['say'], count = 1): Promise<void> {
    const wanted = this.#count(kind) + count;
    while (this.#count(kind) < wanted) {
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`a process ended before it said ${kind}`);
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.pid, signal);
  }

  /** As `kill -9`, of the process itself. */
  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(this.pid, 'SIGKILL');
    await this.exited;
  }

  #count(kind: Said['say']): number {
    return this.said.filter(({ say }) => say === kind).length;
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) =>
      this.#answers.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer))),
    );
  }

  #hear(said: Said): void {
    this.said.push(said);
    if (said.say === 'done') this.#answers.shift()?.(said);
    this.#wake();
  }

  #end(): void {
    for (const answer of this.#answers) answer(new Error('a process ended in the middle of its work'));
    this.#answers = [];
    this.#wake();
  }

  #wake(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
