import { InvalidArgumentError } from 'commander';

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
