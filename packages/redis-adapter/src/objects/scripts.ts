import { HEAD_BYTES } from './head.js';
import type { Argument } from '../connection/session.js';

/**
 * Scripts for atomic operations on the key of an object for which Redis has no single command. Each script
 * uses one key, so it works in a cluster.
 */

/**
 * Reads the head, and a range of the first chunk after it. Both are of the same write, even if the object is
 * replaced.
 */
export function readRange(key: string, offset: number, length: number): Argument[] {
  const from = HEAD_BYTES + offset;
  return ['EVAL_RO', READ_RANGE, '1', key, `${from}`, `${from + length - 1}`];
}

const HEAD = `redis.call('GETRANGE', KEYS[1], 0, ${HEAD_BYTES - 1})`;

const READ_RANGE = `return {${HEAD}, redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])}`;

/** Replaces a value, and returns the head of the old one, empty if there was none. */
export function replace(key: string, value: Buffer, ttlMs: number): Argument[] {
  return ['EVAL', REPLACE, '1', key, value, `${ttlMs}`];
}

const REPLACE = `local old = ${HEAD}
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return old`;

/** Removes an object, and returns its head, empty if there was none. */
export function remove(key: string): Argument[] {
  return ['EVAL', REMOVE, '1', key];
}

const REMOVE = `local old = ${HEAD}
redis.call('UNLINK', KEYS[1])
return old`;

/** Removes an object if it still has this head, and returns the head that it had. */
export function removeIf(key: string, head: Buffer): Argument[] {
  return ['EVAL', REMOVE_IF, '1', key, head];
}

const REMOVE_IF = `local old = ${HEAD}
if old == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return old`;
