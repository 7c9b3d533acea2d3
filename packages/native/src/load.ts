import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { familySync } from 'detect-libc';
import { TieredError } from '@tiered/core';
import type { Binding } from './binding.js';

/** Whether the native part can be used, and if not, why. */
export type Native =
  | {
      readonly available: true;
      /** The file that was loaded. */
      readonly from: string;
    }
  | {
      readonly available: false;
      /** As a sentence. */
      readonly reason: string;
      /** How to make it available, as a sentence. Undefined if that is impossible. */
      readonly advice: string | undefined;
      /** The places that were tried. */
      readonly tried: readonly string[];
    };

type Loaded = { readonly binding: Binding; readonly native: Native } | { readonly native: Native };

const FILE = 'tiered-native.node';
const require = createRequire(import.meta.url);

/**
 * Returns whether the native part can be used here, and loads it: from the package for this platform, such as
 * `@tiered/native-linux-x64-gnu`, else from a build in this directory (`npm ci` in a clone). Linux only. The
 * first call reads the environment variable `TIERED_NATIVE`: `0` turns the native part off, and a path is
 * loaded instead. The first call costs a few milliseconds, later ones nothing.
 *
 * Never throws. A missing file is expected. Any other loading error becomes part of the reason, and of a
 * warning.
 */
export function native(): Native {
  return load().native;
}

/**
 * Returns the functions themselves.
 * @throws TieredError `TIERED_UNSUPPORTED` with the reason if there are none.
 */
export function binding(): Binding {
  const loaded = load();
  if ('binding' in loaded) return loaded.binding;
  throw new TieredError('TIERED_UNSUPPORTED', reasonOf(loaded.native));
}

function reasonOf(state: Native): string {
  return state.available ? '' : `Native file I/O is not available: ${state.reason}`;
}

let loaded: Loaded | undefined;

function load(): Loaded {
  return (loaded ??= tryToLoad(process.env['TIERED_NATIVE'] ?? ''));
}

/** Processors with binaries. */
const PROCESSORS: readonly string[] = ['x64', 'arm64'];

function tryToLoad(wish: string): Loaded {
  if (wish === '0') return unavailable('it is turned off by TIERED_NATIVE=0.', 'Unset TIERED_NATIVE.', []);
  if (process.platform !== 'linux')
    return unavailable(`it is for Linux only, this is ${process.platform}.`, undefined, []);
  const places = wish === '' ? usualPlaces() : [path.resolve(wish)];
  const failures: string[] = [];
  const functions = firstOf(places, failures);
  // There is a file, and its installer expects it to be used.
  if (failures.length > 0) process.emitWarning(`Native file I/O: ${cannot(failures)}`, 'TieredWarning');
  if (functions !== undefined) return functions;
  const reason = failures.length > 0 ? cannot(failures) : 'it is not installed, and not built.';
  return unavailable(reason, wish === '' ? howToInstall() : 'Correct TIERED_NATIVE, or unset it.', places);
}

function howToInstall(): string | undefined {
  if (fs.existsSync(path.join(import.meta.dirname, '../src-c')))
    return 'Install a C compiler (apt-get install gcc libc6-dev), then run npm ci.';
  if (!PROCESSORS.includes(process.arch)) return undefined;
  return 'Install optional dependencies too: npm install --include=optional.';
}

function cannot(failures: readonly string[]): string {
  return `it cannot be loaded: ${failures.join('; ')}`;
}

/** Loads from the first place that has it. Adds earlier failures to `failures`. */
function firstOf(places: readonly string[], failures: string[]): Loaded | undefined {
  for (const place of places) {
    try {
      const found = require(place) as Binding;
      return { binding: found, native: { available: true, from: require.resolve(place) } };
    } catch (error) {
      if (!isMissing(error, place)) failures.push(`${place}: ${(error as Error).message}`);
    }
  }
  return undefined;
}

function usualPlaces(): readonly string[] {
  const platform = `linux-${process.arch}-${familySync() === 'musl' ? 'musl' : 'gnu'}`;
  return [`@tiered/native-${platform}/${FILE}`, path.join(import.meta.dirname, '../build', platform, FILE)];
}

/** Whether the place itself is missing, and not one of its dependencies. */
function isMissing(error: unknown, place: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' && message.includes(`'${place}'`);
}

function unavailable(reason: string, advice: string | undefined, tried: readonly string[]): Loaded {
  return { native: { available: false, reason, advice, tried } };
}
