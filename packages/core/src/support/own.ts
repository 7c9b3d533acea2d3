/**
 * Returns the own property of a record. Names come from outside, and `constructor` is one that every object
 * seems to have.
 */
export function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
