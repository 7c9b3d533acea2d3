import type { OptionsSchema } from '@tiered/core/driver';
import { distance } from 'fastest-levenshtein';
import type { Path } from '../file/document.js';

/** The part of a JSON Schema that is needed to find its keys. */
interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly items?: JsonSchema | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
}

/** Returns the keys that a schema allows at a place. None are known if the schema has no JSON Schema. */
export function knownKeys(schema: OptionsSchema, within: Path): readonly string[] {
  const root = jsonOf(schema);
  const found = within.reduce<readonly JsonSchema[]>(
    (schemas, key) => {
      const inner = (one: JsonSchema) => (typeof key === 'number' ? one.items : one.properties?.[key]);
      return alternatives(schemas).flatMap((one) => inner(one) ?? []);
    },
    [root],
  );
  return alternatives(found).flatMap(({ properties }) => Object.keys(properties ?? {}));
}

function jsonOf(schema: OptionsSchema): JsonSchema {
  try {
    return schema['~standard'].jsonSchema?.input({ target: 'draft-07' }) ?? {};
  } catch {
    // Some schemas cannot be written as a JSON Schema.
    return {};
  }
}

function alternatives(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  return schemas.flatMap((one) => [one, ...alternatives([...(one.anyOf ?? []), ...(one.oneOf ?? [])])]);
}

/** Returns the known name that an unknown one probably means. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const distanceTo = (other: string) => distance(name.toLowerCase(), other.toLowerCase());
  const [first] = [...known].sort((a, b) => distanceTo(a) - distanceTo(b));
  // Two swapped letters count as a distance of 2.
  return first !== undefined && distanceTo(first) <= Math.max(2, 0.45 * name.length) ? first : undefined;
}
