import { TieredError } from '@tiered/core';
import type { OptionIssue, OptionsSchema } from '@tiered/core/driver';
import { located, type ConfigDocument, type Path } from '../file/document.js';
import { redact, related, type Variable } from '../file/environment.js';
import { knownKeys, nearest } from './unknown-keys.js';

interface Problem {
  readonly path: Path;
  readonly message: string;
  readonly cause: unknown;
}

/** The fields of a zod issue beyond Standard Schema: unknown keys, and the issues of each part of a union. */
interface ZodIssue extends OptionIssue {
  readonly code?: unknown;
  readonly keys?: unknown;
  readonly errors?: readonly (readonly ZodIssue[])[] | undefined;
}

/**
 * Issues that mean a value was not meant for this part of a union. Other issues are mistakes in the value.
 */
const NOT_MEANT = new Set<unknown>(['invalid_type', 'invalid_value']);

/**
 * Collects all problems of a configuration, to report them at once. Only the first problem of each field is
 * kept, because it explains the others.
 */
export class Problems {
  readonly #document: ConfigDocument;
  readonly #variables: readonly Variable[];
  readonly #found: Problem[] = [];

  /** @param variables Values from the environment. Messages show a variable's name, never its value. */
  constructor(document: ConfigDocument, variables: readonly Variable[]) {
    this.#document = document;
    this.#variables = variables;
  }

  /** @param about The place whose values the message may show. Default: `path`. */
  add(path: Path, message: string, cause?: unknown, about = path): void {
    if (this.#found.some((other) => fieldName(other.path) === fieldName(path))) return;
    const variables = this.#variablesOf(about);
    // A cause has its own message, which might show the value of a variable.
    this.#found.push({
      path,
      message: redact(message, variables),
      cause: variables.length === 0 ? cause : undefined,
    });
  }

  /** Whether anything at a place came from the environment. */
  fromVariable(path: Path): boolean {
    return this.#variablesOf(path).length > 0;
  }

  /**
   * Removes the value from a message of `configError` if any part of its field came from the environment. A
   * size or a path may have been rewritten by then, so the variable's value would not be recognised in it.
   */
  withoutValue(message: string): string {
    const [field = ''] = message.split(': ', 1);
    const isOf = (name: string) => field.startsWith(name) || name.startsWith(field);
    return this.#variables.some(({ path }) => isOf(fieldName(path)))
      ? message.replace(/, got .*$/s, '')
      : message;
  }

  /**
   * Checks a part of the configuration, and adds its problems.
   * @param path The place of the part.
   * @param alsoKnown Further keys that may appear beside the schema's. They are suggested for unknown keys
   * too.
   */
  async check<Output>(
    path: Path,
    schema: OptionsSchema<Output>,
    value: unknown,
    alsoKnown: readonly string[] = [],
  ): Promise<{ readonly value: Output } | undefined> {
    const result = await schema['~standard'].validate(value);
    if (result.issues === undefined) return result;
    for (const { within, message, unknownKeys } of result.issues.flatMap((issue) => leaves(issue))) {
      if (unknownKeys === undefined) this.add([...path, ...within], message);
      for (const key of unknownKeys ?? []) {
        const known = [...knownKeys(schema, within), ...(within.length === 0 ? alsoKnown : [])];
        this.add([...path, ...within, key], unknownKey(key, known));
      }
    }
    return undefined;
  }

  /**
   * @throws TieredError `TIERED_CONFIG_INVALID` with every problem, in the order of the file, if there is
   * any.
   */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const problems = this.#found
      .map((problem) => ({ ...problem, position: this.#document.positionOf(problem.path) }))
      .sort((a, b) => (a.position?.offset ?? 0) - (b.position?.offset ?? 0));
    const lines = problems.map(({ path, message, position }) => ({
      position,
      text: [fieldName(path), message].filter(Boolean).join(': '),
    }));
    const { name } = this.#document;
    const [only] = lines;
    const message =
      only !== undefined && lines.length === 1
        ? located(name, only.position, only.text)
        : [
            `${name ?? 'the configuration'} has ${lines.length} problems:`,
            ...lines.map(({ position, text }) => `  ${located(undefined, position, text)}`),
          ].join('\n');
    throw new TieredError('TIERED_CONFIG_INVALID', message, {
      cause: problems.find(({ cause }) => cause !== undefined)?.cause,
    });
  }

  #variablesOf(path: Path): readonly Variable[] {
    return this.#variables.filter((variable) => related(variable.path, path));
  }
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key; did you mean ${meant}?`;
  return known.length > 0 ? `unknown key; known are ${known.join(', ')}` : 'unknown key';
}

interface Leaf {
  readonly within: Path;
  readonly message: string;
  readonly unknownKeys: readonly string[] | undefined;
}

/** Returns an issue. If one part of a union was clearly meant, returns the issues of that part instead. */
function leaves(issue: ZodIssue, above: Path = []): Leaf[] {
  const within = [...above, ...(issue.path ?? []).map(keyOf)];
  const meant = (issue.errors ?? []).filter(
    (part) => !part.some(({ code, path }) => NOT_MEANT.has(code) && (path ?? []).length === 0),
  );
  if (meant.length === 1) return (meant[0] ?? []).flatMap((inner) => leaves(inner, within));
  const unknownKeys =
    issue.code === 'unrecognized_keys' && Array.isArray(issue.keys) ? issue.keys.map(String) : undefined;
  return [{ within, message: issue.message, unknownKeys }];
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'number' ? key : String(key);
}

/** Formats the path of a field: `tiers[1].quota`. */
function fieldName(path: Path): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    if (!/^[\w$-]+$/.test(key)) return `${name}[${JSON.stringify(key)}]`;
    return name === '' ? key : `${name}.${key}`;
  }, '');
}
