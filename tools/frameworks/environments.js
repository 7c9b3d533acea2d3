// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Debian's interpreter, to which its packages of PyTorch belong. */
export const BASE = '/usr/bin/python3';

/**
 * Debian's interpreter, if it has these packages.
 * @param {...string} packages
 */
export function debianWith(...packages) {
  return packages.every((name) => existsSync(`/usr/lib/python3/dist-packages/${name}`)) ? BASE : undefined;
}

/** What to do where an environment is missing. */
export const INSTALL = 'bash tools/servers/install.sh frameworks && node tools/frameworks/build.js';

/**
 * What to do where one environment is missing.
 * @param {string} name
 */
export const installOf = (name) => `${INSTALL} ${name}`;

const here = import.meta.dirname;

/**
 * What each is made from. PyPI has no PyTorch for processors alone, and its TensorFlow needs another numpy
 * than Debian's PyTorch, so there are two. The third has clients of S3, the fourth the server of Valkey.
 *
 * @type {Readonly<Record<string, { requirements: string; options: readonly string[] }>>}
 */
export const ENVIRONMENTS = {
  tensorflow: { requirements: path.join(here, 'tensorflow.txt'), options: [] },
  torch: { requirements: path.join(here, 'torch.txt'), options: ['--system-site-packages'] },
  clients: { requirements: path.join(here, 'clients.txt'), options: [] },
  valkey: { requirements: path.join(here, 'valkey.txt'), options: [] },
};

/**
 * What an environment is made from.
 * @param {string} name
 */
export function recipeOf(name) {
  const recipe = ENVIRONMENTS[name];
  if (recipe === undefined) throw new Error(`there is no environment ${name}`);
  return recipe;
}

/**
 * Where an environment is, or would be.
 * @param {string} name
 */
export function environmentOf(name) {
  const hash = createHash('sha256').update(readFileSync(recipeOf(name).requirements));
  // An environment belongs to the interpreter that it was made with.
  hash.update(existsSync(BASE) ? readFileSync(BASE) : '');
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  return path.join(cache, 'tiered', `frameworks-${name}-${hash.digest('hex').slice(0, 16)}`);
}

/**
 * The interpreter of an environment; undefined if it was not made.
 * @param {string} name
 */
export function pythonOf(name) {
  const python = path.join(environmentOf(name), 'bin/python3');
  return existsSync(python) ? python : undefined;
}
