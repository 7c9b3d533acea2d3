/** A mapping of a configuration, unchecked. */
export type Mapping = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields of a mapping whose keys are to be kept. */
export function partOf(mapping: Mapping, keep: (key: string) => boolean): Mapping {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => keep(key)));
}
