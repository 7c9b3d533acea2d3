import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childCommand, temporaryDirectory } from './helpers.js';

const RECORDER = new URL('children/record-calls.mjs', import.meta.url);

/**
 * What calls of the file system a process makes on a root: for each of its marks the lines that follow it, as
 * `children/record-calls.mjs` writes them.
 */
export async function recorded(what: string, root: string): Promise<Map<string, string[]>> {
  const directory = await temporaryDirectory();
  const file = path.join(directory, 'calls');
  const [node, args] = childCommand('make-calls.ts', what, root);
  const env = {
    ...process.env,
    RECORD_ROOT: root,
    RECORD_FILE: file,
    NODE_OPTIONS: `--import ${fileURLToPath(RECORDER)}`,
  };
  try {
    await promisify(execFile)(node, args, { env });
    const [, ...sections] = fs.readFileSync(file, 'utf8').split(/^-- /m);
    return new Map(
      sections.map((section) => {
        const [mark = '', ...lines] = section.trimEnd().split('\n');
        return [mark, lines];
      }),
    );
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}
