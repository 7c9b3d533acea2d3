import type { ByteSize } from '@tiered/core';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { LineProcess } from '../../tools/processes/line-process.js';
import { SOURCES } from '../lib/from-sources.js';

/** A directory that programs are to read under the shim. */
export interface ServedDirectory {
  readonly source: string;
  readonly tier: string;
  readonly quota?: ByteSize;
  /** Objects whose keys begin so are never placed. Default: none. */
  readonly leaves?: string;
  /** Traces. */
  readonly record?: string | undefined;
  readonly replay?: string;
}

/** What a daemon is asked. It is idle when it answers. */
export type DaemonQuestion =
  { readonly ask: 'environment' | 'idle' } | { readonly ask: 'place'; readonly keys: readonly string[] };

const DAEMON = fileURLToPath(new URL('daemon.ts', import.meta.url));

/** An interposer in a process of its own, with a tier that is empty at first. */
export class DaemonProcess implements AsyncDisposable {
  readonly #process: LineProcess;
  /** Of programs that it serves. */
  readonly environment: NodeJS.ProcessEnv;

  static async start(served: ServedDirectory): Promise<DaemonProcess> {
    await rm(served.tier, { recursive: true, force: true });
    const started = await LineProcess.start({
      command: process.execPath,
      arguments: [...SOURCES, DAEMON, JSON.stringify(served)],
    });
    const environment = await ask(started, { ask: 'environment' });
    return new DaemonProcess(started, environment as NodeJS.ProcessEnv);
  }

  private constructor(started: LineProcess, environment: NodeJS.ProcessEnv) {
    this.#process = started;
    this.environment = environment;
  }

  /** Places objects, in order. */
  async place(keys: readonly string[]): Promise<void> {
    await ask(this.#process, { ask: 'place', keys });
  }

  /** Resolves when nothing is being placed, to how many objects were until now. */
  async idle(): Promise<number> {
    return (await ask(this.#process, { ask: 'idle' })) as number;
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const ask = (of: LineProcess, question: DaemonQuestion): Promise<unknown> => of.askJson(question);
