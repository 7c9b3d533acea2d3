/**
 * The tiers of a hierarchy under a Node program, without native code: `node --import
 * @tiered/interpose/register app.js`. It is for where the shim cannot be (macOS, Alpine), and does in the
 * program's own process what the shim does in the C library: what `node:fs` opens for reading below the root
 * is opened as its copy, if there is one.
 *
 * The environment variable `TIERED_INTERPOSE` names the directory of a daemon (`tiered daemon --config FILE
 * --at DIRECTORY`). Throws a `TieredError` at the start: `TIERED_CONFIG_INVALID` if it is not set. If no
 * daemon is there, or it dies, the program reads the source; if that is no directory, it finds no files.
 *
 * Costs three reads of some bytes for each open, and a thread that tells the daemon what was opened.
 * @module
 */
import { configError } from '@tiered/core/internal';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { bucketFunctions } from './register/bucket-functions.js';
import { Bucket } from './register/bucket.js';
import { callbacks } from './register/callbacks.js';
import { DaemonThread } from './register/daemon-thread.js';
import { Descriptors } from './register/descriptors.js';
import { promises, statOfHandles } from './register/promises.js';
import { Questions } from './register/questions.js';
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
  const thread = new DaemonThread(directory);
  const teller = new Teller(thread);
  const bucket = new Bucket(new Questions(thread, () => session.isServed), teller);
  const redirection = new Redirection(session, teller, bucket);
  const descriptors = new Descriptors();
  await statOfHandles(descriptors);
  const others = bucketFunctions({ session, bucket, redirection });
  replace(fs, {
    ...others.fs,
    ...synchronous(redirection, descriptors),
    ...callbacks(redirection, descriptors),
  });
  replace(fs.realpath, { native: others.native.realpath });
  replace(fs.realpathSync, { native: others.native.realpathSync });
  replace(fs.promises, { ...others.promises, ...promises(redirection, descriptors) });
  syncBuiltinESMExports();
}

await register(process.env[VARIABLE]);
