import { InvalidArgumentError } from 'commander';

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

/** An argument that is a whole number of at least 1. */
export function positiveWhole(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('Give a whole number of at least 1.');
  return value;
}
