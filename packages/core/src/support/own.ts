/**
 * What a record has under a name. Names come from others, and `constructor` is one that every object seems to
 * have.
 */
export function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
