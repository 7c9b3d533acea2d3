import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import path from 'node:path';

const BIN = path.join(import.meta.dirname, '../../bin/tiered.js');

/** Messages of a measurement; on a busy machine with lines that say how far it is. */
export const MEASURED = /^(measuring: .*\n)*$/;
export const MEASURED_UNTIL_SIGINT = /^(measuring: .*\n)*Ended by SIGINT\.\n$/;

/** What a command did that was interrupted. */
export interface Interrupted {
  readonly code: number;
  readonly out: string;
  readonly messages: string;
}

/**
 * Runs `tiered` as a process, and interrupts it as soon as an entry with this beginning is made or changed in
 * a directory.
 */
export async function interruptedAt(
  directory: string,
  beginning: string,
  args: readonly string[],
): Promise<Interrupted> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: 'pipe' });
  let [out, messages] = ['', ''];
  child.stdout.on('data', (text) => (out += String(text)));
  child.stderr.on('data', (text) => (messages += String(text)));
  const watcher = watch(directory, (_, name) => {
    if (name?.startsWith(beginning) !== true) return;
    watcher.close();
    // As a terminal does, and the wrapper of a clone.
    for (let i = 0; i < 3; i++) child.kill('SIGINT');
  });
  const [code] = (await once(child, 'close')) as [number];
  watcher.close();
  return { code, out, messages };
}
