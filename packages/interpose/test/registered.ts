import { systemClock } from '@tiered/core';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'tsup';

/** As deep as a build is, so that the thread is found. */
const BUILD = path.join(import.meta.dirname, '../build');

/** Of these tests alone. */
const NAME = `register-${process.pid}`;

/** What a program imports first. */
export const REGISTER = pathToFileURL(path.join(BUILD, `${NAME}.js`)).href;

/** Builds it until the tests of a file end: threads cannot load TypeScript in every version of Node. */
export async function buildRegister(): Promise<() => void> {
  await build({
    entry: { [NAME]: path.join(import.meta.dirname, '../src/register.ts') },
    ...{ outDir: BUILD, format: 'esm', target: 'node20', config: false, silent: true, noExternal: [/./] },
    esbuildOptions: (options) => void (options.conditions = ['tiered-source']),
  });
  return () => fs.rmSync(path.join(BUILD, `${NAME}.js`), { force: true });
}

/**
 * Runs a Node program with it, and resolves to what it wrote.
 *
 * @param mayEnd Whether its standard input may end, for a program that goes on until then. The end of a
 * program waits for half a second until the daemon is told of what it opened, which is short on a busy
 * machine.
 */
export async function start(
  session: string | undefined,
  args: readonly string[],
  mayEnd: () => boolean = () => true,
): Promise<string> {
  const env = { ...process.env, TIERED_INTERPOSE: session };
  const options = ['--import', REGISTER];
  const running = promisify(execFile)(process.execPath, [...options, ...args], { env, maxBuffer: 2 ** 28 });
  const { stdin, pid } = running.child;
  let hasEnded = pid === undefined;
  running.child.once('exit', () => (hasEnded = true));
  while (!mayEnd() && !hasEnded) await systemClock.turn();
  stdin?.end();
  return (await running).stdout;
}
