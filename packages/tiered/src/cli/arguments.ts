import { TieredError } from '@tiered/core';
import { InvalidArgumentError, Option } from 'commander';
import { readFile } from 'node:fs/promises';

/** An argument that is a number above 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('Give a number above 0.');
  return value;
}

/** An argument that is a whole number of at least 0. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('Give a whole number.');
  return value;
}

const LARGEST_PORT = 65_535;

/** An argument that is a port; 0 is any that is free. */
export function portNumber(text: string): number {
  const value = wholeNumber(text);
  if (value > LARGEST_PORT) throw new InvalidArgumentError(`Give a port from 0 to ${LARGEST_PORT}.`);
  return value;
}

/** An argument that is a whole number of at least 1. */
export function positiveWhole(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('Give a whole number of at least 1.');
  return value;
}

/** More processes than this are no use to one machine, and each has memory of its own. */
const MOST_PROCESSES = 64;

/** An argument that is a number of processes. */
export function processCount(text: string): number {
  const value = positiveWhole(text);
  if (value > MOST_PROCESSES)
    throw new InvalidArgumentError(`Give a whole number from 1 to ${MOST_PROCESSES}.`);
  return value;
}

/** An argument that is a mapping as JSON. */
export function mapping(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new InvalidArgumentError('Give a mapping as JSON.');
}

/** An option that may be given several times; its value is a list, in their order. */
export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, description)
    .argParser((text: string, before: readonly string[]): readonly string[] => [...before, text])
    .default([], 'none');

/**
 * Makes something of a JSON document in a file.
 * @param what It is to be, for the message.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a file that is none; the system's error for one that cannot
 * be read.
 */
export async function readJsonFile<T>(file: string, what: string, parse: (value: unknown) => T): Promise<T> {
  const text = await readFile(file, 'utf8');
  try {
    return parse(JSON.parse(text));
  } catch (cause) {
    const { message } = cause as Error;
    throw new TieredError('TIERED_CONFIG_INVALID', `${file} is not a ${what}: ${message}`, { cause });
  }
}
