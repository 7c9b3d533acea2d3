import { systemClock } from '@tiered/core';
import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { once, type EventEmitter } from 'node:events';
import fs from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Request, Said } from './children/use-tier.js';
import type { Place } from './place.js';

/** What a process knows when it has done what it was asked for. */
export type Answer = Extract<Said, { say: 'done' }>;
export type Fault = Extract<Said, { say: 'fault' }>;

/** In namespaces of its own, as a container: it sees no other process, host name or network. */
const CONTAINER = ['-p', '-u', '-m', '-n', '--fork', '--mount-proc', '--kill-child=SIGKILL'];

export interface ChildOptions {
  /** Default: a process. Threads are of this process, workers of the cluster of which it is the primary. */
  readonly as?: 'process' | 'thread' | 'clusterWorker' | undefined;
  readonly inContainer?: boolean | undefined;
  /** A command that runs the program in its place, such as `sh -c 'ulimit ...; exec "$@"' sh`. */
  readonly through?: readonly string[];
}

/** What runs a program, and is talked to. */
interface Body {
  readonly events: EventEmitter;
  /** Of a thread that of its process. Throws where it runs no more. */
  readonly pid: number;
  send(request: Request): void;
  kill(): void;
}

function bodyOf(
  program: string,
  place: Place,
  { as = 'process', inContainer, through = [] }: ChildOptions,
): Body {
  const said = JSON.stringify(place);
  if (as === 'thread') {
    const thread = new Worker(program, { argv: [said], execArgv: [] });
    return {
      events: thread,
      pid: process.pid,
      send: (request) => thread.postMessage(request),
      kill: () => thread.postMessage({ ask: 'exit' } satisfies Request),
    };
  }
  if (as === 'clusterWorker') {
    cluster.setupPrimary({ exec: program, args: [said], execArgv: [] });
    const worker = cluster.fork();
    const kill = () => worker.process.kill('SIGKILL');
    const send = (request: Request) => worker.send(request);
    return { events: worker, pid: numberOf(worker.process.pid), send, kill };
  }
  const command = [
    ...(inContainer ? ['unshare', ...CONTAINER] : []),
    ...through,
    process.execPath,
    program,
    said,
  ];
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const pid = () => numberOf(inContainer ? onlyChildOf(child.pid) : child.pid);
  return {
    events: child,
    get pid() {
      return pid();
    },
    send: (request) => child.send(request),
    kill: () => {
      try {
        process.kill(pid(), 'SIGKILL');
      } catch {
        // It is over, or has not begun: then it does not begin once what runs it has ended.
        child.kill('SIGKILL');
      }
    },
  };
}

/** The number of a process that runs: a signal to 0 would go to this process, and to all of its group. */
function numberOf(pid = 0): number {
  if (pid > 0) return pid;
  throw new Error('a process is over, or has not begun');
}

/** The process in a container; 0 if there is none. */
function onlyChildOf(pid: number | undefined): number {
  return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

/** A process, or a thread, that uses a tier, and does what it is told. */
export class Child {
  readonly said: Said[] = [];
  readonly exited: Promise<unknown[]>;
  readonly started: Promise<Answer>;
  readonly #body: Body;
  readonly #listeners = new Set<() => void>();
  #answers: ((answer: Answer | Error) => void)[] = [];
  #isOver = false;

  constructor(program: string, place: Place, options: ChildOptions = {}) {
    this.#body = bodyOf(program, place, options);
    const { events } = this.#body;
    this.exited = once(events, 'exit');
    this.started = this.#next();
    this.started.catch(() => undefined);
    events.on('message', (said: Said) => this.#hear(said));
    events.on('exit', () => this.#end());
  }

  get faults(): readonly Fault[] {
    return this.said.filter((one) => one.say === 'fault');
  }

  /** The number of the process itself, as it is here. */
  get pid(): number {
    return this.#body.pid;
  }

  ask(request: Request): Promise<Answer> {
    this.#body.send(request);
    return this.#next();
  }

  /** Asks, without an answer to come. */
  tell(request: Request): void {
    this.#body.send(request);
  }

  /** Resolves when so many more messages of a kind have come. */
  async hears(kind: Said['say'], count = 1): Promise<void> {
    const wanted = this.#count(kind) + count;
    while (this.#count(kind) < wanted) {
      await new Promise<void>((resolve) => this.#listeners.add(resolve));
      if (this.#isOver) throw new Error(`a process ended before it said ${kind}`);
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.pid, signal);
  }

  /** Resolves when it is stopped: by itself, so that nobody hears of it. */
  async stops(): Promise<void> {
    const isStopped = () => fs.readFileSync(`/proc/${this.pid}/stat`, 'utf8').includes(') T ');
    while (!isStopped()) await systemClock.turn();
  }

  /** As `kill -9`, of the process itself; of a thread its exit, whatever is under way. */
  async kill(): Promise<void> {
    if (!this.#isOver) this.#body.kill();
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
    this.#isOver = true;
    for (const answer of this.#answers) answer(new Error('a process ended in the middle of its work'));
    this.#answers = [];
    this.#wake();
  }

  #wake(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
