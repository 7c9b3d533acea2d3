import { fileURLToPath } from 'node:url';
import { LineProcess } from '../../tools/processes/line-process.js';
import { SOURCES } from '../lib/from-sources.js';
import type { Dataset } from './datasets.js';

/** What a client is to read. */
export interface ClientTask {
  readonly endpoint: string;
  readonly dataset: Dataset;
  /** Says the order. */
  readonly epoch: number;
  /** Default: those of the dataset. */
  readonly connections?: number;
}

/** Connections that a client is to open, each with one request. They stay open. */
export interface ConnectTask {
  readonly endpoint: string;
  readonly path: string;
  readonly idle: number;
}

/** What a client saw. */
export interface ClientFigures {
  readonly seconds: number;
  readonly bytes: number;
  /** Of the client. */
  readonly cpuSeconds: number;
  /** Of a read, from its request to the last of its bytes. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const PROGRAM = fileURLToPath(new URL('client-process.ts', import.meta.url));

/** A client of HTTP in a process of its own, which does as little as it can. Its connections stay open. */
export class Client implements AsyncDisposable {
  readonly #process: LineProcess;

  static async start(): Promise<Client> {
    return new Client(
      await LineProcess.start({ command: process.execPath, arguments: [...SOURCES, PROGRAM] }),
    );
  }

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  async read(task: ClientTask): Promise<ClientFigures> {
    return (await this.#ask(task)) as ClientFigures;
  }

  /** Resolves when all are open, and idle. They stay so until the client ends. */
  async connect(task: ConnectTask): Promise<void> {
    await this.#ask(task);
  }

  #ask(task: ClientTask | ConnectTask): Promise<unknown> {
    return this.#process.askJson(task);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.close();
  }
}
