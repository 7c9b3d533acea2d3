import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/*
 * Which parts of a configuration may be shown. Nobody can tell a secret by its look, so it is the other way
 * round: a field is shown only if its name and the kind of its value say that it is none.
 *
 * - Numbers, sizes, flags and words of the schema, in fields that the schema knows.
 * - Text in fields that say where something is. Of a URL only scheme, host and port: a user, a password, a
 *   token or a signature may stand in the rest.
 * - References to variables, `${NAME}`.
 */

/** What stands for a value that is not shown. */
export const REMOVED = 'removed';

/** What the schema of configurations knows. */
export interface KnownFields {
  readonly names: ReadonlySet<string>;
  /** Values of fields that have one of a few. */
  readonly words: ReadonlySet<string>;
}

/** What may be shown of a value, and the texts and numbers that may not. */
export interface Shown {
  readonly shown: unknown;
  readonly hidden: readonly string[];
}

const PLACES = new Set([
  ...['driver', 'service', 'root', 'prefix', 'bucket', 'container', 'filesystem', 'region', 'endpoint'],
  ...['manifest', 'model', 'monitor'],
]);
const SECRET = /secret|password|passwd|token|credential|auth|(access|account|private|_|^)key/i;
const SIZE = /^\s*\d+(\.\d+)?\s*([kmgtp]?i?b|%)?\s*$/i;
const REFERENCES = /\$\{[A-Za-z_]\w*\}/g;
/** User and password before a host, parameters, or one with a telling name. */
const PERHAPS_SECRET = /^[^/]*@|\?|(key|secret|password|token|sig|signature)\s*[=:]/i;
const NAME = /^[\w.$-]{1,64}$/;

/** Collects the names and the words of the JSON Schema of configurations. */
export async function knownFields(): Promise<KnownFields> {
  const file = fileURLToPath(import.meta.resolve('@tiered/config/schema.json'));
  const names = new Set<string>();
  const words = new Set<string>();
  const collect = (schema: unknown) => {
    if (typeof schema !== 'object' || schema === null) return;
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name);
      for (const word of key === 'enum' ? (value as unknown[]) : key === 'const' ? [value] : [])
        words.add(String(word));
      collect(value);
    }
  };
  collect(JSON.parse(await readFile(file, 'utf8')));
  return { names, words };
}

/** Returns what may be shown of a configuration, as it is written. */
export function shownOf(configuration: unknown, { names, words }: KnownFields): Shown {
  const hidden = new Set<string>();
  const seen = new Set<object>();
  const hide = (value: unknown) => {
    if (typeof value === 'string' || typeof value === 'number') hidden.add(String(value));
    return typeof value === 'boolean' ? value : REMOVED;
  };

  const show = (value: unknown, field: string, isKnown: boolean): unknown => {
    if (typeof value === 'object' && value !== null) {
      // A YAML alias may lead back to what it is in.
      if (seen.has(value)) return REMOVED;
      seen.add(value);
      const shown = Array.isArray(value)
        ? value.map((item: unknown) => show(item, field, isKnown))
        : Object.fromEntries(Object.entries(value).map((entry) => showField(entry, isKnown)));
      seen.delete(value);
      return shown;
    }
    if (typeof value === 'string' && isOnlyReferences(value)) return value;
    if (!isKnown || SECRET.test(field)) return hide(value);
    if (typeof value !== 'string') return value;
    if (SIZE.test(value.replace(REFERENCES, '1')) || words.has(value)) return value;
    return PLACES.has(field) ? showPlace(value) : hide(value);
  };

  const showField = ([key, value]: [string, unknown], isKnown: boolean): [string, unknown] => {
    if (NAME.test(key)) return [key, show(value, key, isKnown && (names.has(key) || PLACES.has(key)))];
    hidden.add(key);
    return [REMOVED, show(value, key, false)];
  };

  const showPlace = (text: string): string => {
    const parts = partsOfUrl(text);
    if (parts === undefined && !text.includes('://') && !PERHAPS_SECRET.test(text)) return text;
    for (const part of [text, ...(parts?.rest ?? [])]) hidden.add(part);
    if (parts === undefined) return REMOVED;
    return parts.rest.length === 0 ? parts.origin : `${parts.origin}/${REMOVED}`;
  };

  return { shown: show(configuration, '', true), hidden: [...hidden] };
}

function isOnlyReferences(text: string): boolean {
  return text !== '' && text.replace(REFERENCES, '') === '';
}

/** Scheme, host and port of a URL, and all else that is in it, also as it was before it was encoded. */
function partsOfUrl(text: string): { readonly origin: string; readonly rest: string[] } | undefined {
  if (!text.includes('://') || !URL.canParse(text)) return undefined;
  const { protocol, host, username, password, pathname, search, hash, searchParams } = new URL(text);
  const rest = [username, password, pathname.slice(1), search.slice(1), hash.slice(1)];
  const decoded = [...rest.map(withoutEncoding), ...searchParams.values()];
  return { origin: `${protocol}//${host}`, rest: [...rest, ...decoded].filter((part) => part !== '') };
}

function withoutEncoding(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
