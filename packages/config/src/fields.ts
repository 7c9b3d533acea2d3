/**
 * The building blocks of a configuration's fields, for factories that describe their options with zod. One
 * message covers all possible problems of a field. Title and description appear in the JSON Schema and the
 * documentation.
 * @module
 */
import { parseBytes } from '@tiered/core';
import { describe, HOME_PATH, isHomePath } from '@tiered/core/internal';
import { z } from 'zod';

/** The readable name of a field, and its meaning. */
export interface FieldText {
  readonly title: string;
  /** Ends with the default, if there is one. */
  readonly description: string;
}

/** Makes the error of a field for zod, with the expected and the actual value. */
export function expected(what: string) {
  return {
    /** Reports the expected and the actual value. */
    error: ({ input }: { readonly input?: unknown }) =>
      input === undefined ? `missing; expected ${what}` : `expected ${what}, got ${shown(input)}`,
  };
}

function shown(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  return typeof input === 'object' && input !== null ? 'a mapping' : describe(input);
}

/** A mapping with only the keys of its shape. */
export function group<Shape extends z.core.$ZodLooseShape>(what: string, shape: Shape) {
  return z.strictObject(shape, expected(what));
}

/** Text of at least one character. */
export function text(what: string, about: FieldText) {
  return z
    .string(expected(what))
    .min(1, expected(what))
    .meta({ ...about });
}

/** The path of a file or directory. A path that begins with `~/` is rejected; see `assertNoTilde`. */
export function filePath(what: string, about: FieldText) {
  return z
    .string(expected(what))
    .min(1, expected(what))
    .refine((value) => !isHomePath(value), expected(HOME_PATH))
    .meta({ ...about });
}

/** `true` or `false`. */
export function flag(about: FieldText) {
  return z.boolean(expected('true or false')).meta({ ...about });
}

/** One of these words. */
export function oneOf<const Word extends string>(words: readonly Word[], about: FieldText) {
  return z.enum(words, expected(`one of ${words.join(', ')}`)).meta({ ...about });
}

/** A whole number of at least `least`. */
export function wholeNumber(least: number, about: FieldText) {
  const error = expected(`a whole number of at least ${least}`);
  return z
    .int(error)
    .min(least, error)
    .meta({ ...about });
}

/** The pattern of text that stands for a whole number, such as the value of a variable. */
export const WHOLE = String.raw`^\d{1,15}$`;

/**
 * A whole number of at least `least`, also as text: a reference to a variable is text, and so is its value.
 */
export function wholeNumberOrText(least: number, about: FieldText) {
  const error = expected(`a whole number of at least ${least}`);
  return z
    .union([z.int(error).min(least, error), z.string(error).meta({ pattern: `${WHOLE}|\\$\\{` })], error)
    .refine(
      (value) => typeof value === 'number' || (new RegExp(WHOLE).test(value) && Number(value) >= least),
      error,
    )
    .transform(Number)
    .meta({ ...about });
}

/** Secret text of at least `least` characters: messages do not show it. */
export function secret(what: string, least: number, about: FieldText) {
  const error = `expected ${what}`;
  return z
    .string(error)
    .refine((value) => value.length >= least, error)
    .meta({ ...about, pattern: `^[^]{${least},}$|\\$\\{` });
}

/** Milliseconds: a number more than 0, or at least 0. */
export function milliseconds(bound: 'more than 0' | 'at least 0', about: FieldText) {
  const error = expected(`milliseconds, ${bound}`);
  const number = z.number(error);
  return (bound === 'more than 0' ? number.positive(error) : number.min(0, error)).meta({ ...about });
}

/**
 * The pattern that `parseBytes` accepts, for the JSON Schema. Text with a variable is accepted too, because
 * it can only be checked once the value is known.
 */
const SIZE = String.raw`^\s*\d+(\.\d+)?\s*([kKmMgGtTpP]?[bB]|[kKmMgGtTpP][iI][bB])?\s*$|\$\{`;

/** A `ByteSize` of at least `least` bytes. */
export function byteSize(least: number, about: FieldText) {
  const error = expected(
    `a number of bytes${least === 0 ? '' : `, at least ${least},`} or a string such as "200GiB"`,
  );
  return z
    .union([z.int(error).min(least, error), z.string(error).meta({ pattern: SIZE })], error)
    .refine((size) => bytesOf(size) >= least, error)
    .meta({ ...about });
}

/** The pattern that `parseShare` accepts: more than 0 and at most 100. */
const SHARE = String.raw`^\s*(?!0+(\.0+)?\s*%)(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%\s*$`;

/** A `ByteSize`, or a share of the storage, such as `50%`. */
export function quota(about: FieldText) {
  const error = expected('a number of bytes or a string such as "200GiB" or "50%"');
  return z
    .union([z.int(error).min(0, error), z.string(error).meta({ pattern: `${SIZE}|${SHARE}` })], error)
    .refine((size) => bytesOf(size) >= 0 || parseShare(size) !== undefined, error)
    .meta({ ...about });
}

/** Returns the percentage of text such as `50%`, or undefined for anything else. */
export function parseShare(text: unknown): number | undefined {
  if (typeof text !== 'string' || !new RegExp(SHARE).test(text)) return undefined;
  return Number.parseFloat(text);
}

function bytesOf(size: number | string): number {
  try {
    return parseBytes(size);
  } catch {
    return -1;
  }
}
