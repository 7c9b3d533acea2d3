import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { LineProcess, type LineProcessOptions } from '../../tools/processes/line-process.js';

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** A path of the test's own in shared memory, at which there is nothing. */
export function place(): string {
  const at = path.join(fs.mkdtempSync('/dev/shm/tiered-test-'), 'session');
  onTestFinished(() => fs.rmSync(path.dirname(at), { recursive: true, force: true }));
  return at;
}

/** A process of the test's own that answers lines. */
export async function line(options: LineProcessOptions): Promise<LineProcess> {
  const started = await LineProcess.start(options);
  onTestFinished(() => started.close());
  return started;
}

/** How a daemon in TypeScript is started, whose argument says as JSON what it serves. */
export const daemonOf = (program: URL, served: object): LineProcessOptions => ({
  command: process.execPath,
  arguments: [
    ...['--conditions=tiered-source', '--import', TSX],
    ...[fileURLToPath(program), JSON.stringify(served)],
  ],
});
