import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** Arguments of Node that run a program from the sources of this repository, in whatever directory. */
export const SOURCES: readonly string[] = ['--conditions=tiered-source', '--import', TSX];
