/**
 * The tiers of a hierarchy under a Node program, without native code: `node --import
 * @tiered/interpose/register app.js`. It is for where the shim cannot be (macOS, Alpine), and does in the
 * program's own process what the shim does in the C library: what `node:fs` opens for reading below the root
 * is opened as its copy, if there is one.
 *
 * The environment variable `TIERED_INTERPOSE` names the directory of a daemon (`tiered daemon --config FILE
 * --at DIRECTORY`). Throws a `TieredError` at the start: `TIERED_CONFIG_INVALID` if it is not set;
 * `TIERED_UNSUPPORTED` if the daemon's source is no directory. If no daemon is there, or it dies, the program
 * reads the source.
 *
 * Costs two reads of some bytes for each open, and a thread that tells the daemon what was opened.
 * @module
 */
import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { callbacks } from './register/callbacks.js';
import { Descriptors } from './register/descriptors.js';
import { promises, statOfHandles } from './register/promises.js';
import { Redirection } from './register/redirection.js';
import { SessionView } from './register/session-view.js';
import { synchronous } from './register/synchronous.js';
import { Teller } from './register/teller.js';
import { VARIABLE } from './variable.js';

/** Puts functions in the places of others, which keep what else is known of them. */
function replace(target: object, replacements: object): void {
  for (const [name, replacement] of Object.entries(replacements) as [string, object][]) {
    const original = (target as Record<string, object>)[name] ?? {};
    Object.defineProperties(replacement, Object.getOwnPropertyDescriptors(original));
    Object.defineProperty(target, name, {
      ...Object.getOwnPropertyDescriptor(target, name),
      value: replacement,
    });
  }
}

async function register(directory: string | undefined): Promise<void> {
  if (directory === undefined || !path.isAbsolute(directory))
    throw configError(
      VARIABLE,
      'in the environment, the absolute path of what "tiered daemon --config FILE --at DIRECTORY" was started with',
      directory,
    );
  const session = new SessionView(directory);
  if (session.isImaginary)
    throw new TieredError(
      'TIERED_UNSUPPORTED',
      'The source of this daemon is no directory. Run the program by "tiered run", or read by @tiered/core.',
    );
  const redirection = new Redirection(session, new Teller(directory));
  const descriptors = new Descriptors();
  await statOfHandles(descriptors);
  replace(fs, { ...synchronous(redirection, descriptors), ...callbacks(redirection, descriptors) });
  replace(fs.promises, promises(redirection, descriptors));
  syncBuiltinESMExports();
}

await register(process.env[VARIABLE]);
