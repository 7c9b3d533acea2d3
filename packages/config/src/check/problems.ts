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

/**
 * What zod says beside what Standard Schema asks for: which keys are too many, and what each part of a union
 * lacks.
 */
interface ZodIssue extends OptionIssue {
  readonly code?: unknown;
  readonly keys?: unknown;
  readonly errors?: readonly (readonly ZodIssue[])[] | undefined;
}

/** A value that is no candidate at all for a part of a union, rather than one with a mistake in it. */
const NOT_MEANT = new Set<unknown>(['invalid_type', 'invalid_value']);

/**
 * Everything that is wrong with a configuration, told at once; of each field the first thing, which explains
 * the others.
 */
export class Problems {
  readonly #document: ConfigDocument;
  readonly #variables: readonly Variable[];
  readonly #found: Problem[] = [];

  /** @param variables What came from the environment: messages show its name, never its value. */
  constructor(document: ConfigDocument, variables: readonly Variable[]) {
    this.#document = document;
    this.#variables = variables;
  }

  /** @param about What the message may show values of. Default: what is at `path`. */
  add(path: Path, message: string, cause?: unknown, about = path): void {
    if (this.#found.some((other) => fieldName(other.path) === fieldName(path))) return;
    const variables = this.#variablesOf(about);
    // A cause has a message of its own, which may hold what must not be shown.
    this.#found.push({
      path,
      message: redact(message, variables),
      cause: variables.length === 0 ? cause : undefined,
    });
  }

  /** Whether any of what stands at a place came from the environment. */
  fromVariable(path: Path): boolean {
    return this.#variablesOf(path).length > 0;
  }

  /**
   * A message of `configError`, without the value it tells if any of its field came from the environment: a
   * size or a path may be written in another way by then, and would not be recognised.
   */
  withoutValue(message: string): string {
    const [field = ''] = message.split(': ', 1);
    const isOf = (name: string) => field.startsWith(name) || name.startsWith(field);
    return this.#variables.some(({ path }) => isOf(fieldName(path)))
      ? message.replace(/, got .*$/s, '')
      : message;
  }

  /**
   * Checks a part of the configuration, and adds what is wrong with it.
   * @param path Where the part is.
   * @param alsoKnown Keys that may stand beside those of the schema, to be suggested for unknown ones.
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

/** An issue, or what the one part of a union that was meant says instead of the union as a whole. */
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

/** A field as people write it: `tiers[1].quota`. */
function fieldName(path: Path): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    if (!/^[\w$-]+$/.test(key)) return `${name}[${JSON.stringify(key)}]`;
    return name === '' ? key : `${name}.${key}`;
  }, '');
}
