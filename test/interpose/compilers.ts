import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';
import { compileOnce } from '../../tools/c/compile.js';

/** What to do where there is no compiler of C. */
export const INSTALL_CC = 'bash tools/servers/install.sh frameworks';
/** Where the programs are that tests compile. */
export const SOURCES = path.join(import.meta.dirname, 'programs');
const BUILD = path.join(import.meta.dirname, '../../packages/interpose/build/programs');

/** Compiles a program in C or C++, unless that was done already, and resolves to its path. */
export const compiled = (command: readonly string[]) =>
  compileOnce({
    command: [...command, '-O2'],
    sources: [SOURCES],
    file: path.join(BUILD, command.join('-')),
  });

/** Describes what needs a program. Without it, it is skipped, and fails where `CI=true`. */
export function describeWith(program: string, install: string, register: () => void): void {
  const isThere = (process.env['PATH'] ?? '')
    .split(':')
    .some((directory) => fs.existsSync(path.join(directory, program)));
  describe.skipIf(!isThere && process.env['CI'] !== 'true')(`${program} (needs ${install})`, register);
}
