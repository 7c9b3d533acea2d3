import type { Path } from './document.js';

/** A part of a configuration's text that came from the environment. */
export interface Variable {
  readonly path: Path;
  readonly name: string;
  readonly value: string;
}

/** A configuration with its variables replaced, with the variables and problems found. */
export interface Expanded {
  readonly value: unknown;
  readonly variables: readonly Variable[];
  readonly problems: readonly { readonly path: Path; readonly message: string }[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `$${`, which stands for `${`; or `${` and everything up to the next closing brace. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;

/**
 * Replaces `${NAME}` by the environment variable, in all text except keys. `$${` stands for `${`. The
 * reference of an unset variable stays unchanged, and is reported as a problem.
 */
export function expandVariables(root: unknown, env: Environment): Expanded {
  const variables: Variable[] = [];
  const problems: { path: Path; message: string }[] = [];
  // A value that occurs twice is replaced once. YAML aliases cause this, and may even refer to themselves.
  const done = new Map<object, unknown>();

  const expandText = (text: string, path: Path) =>
    text.replace(REFERENCE, (reference, name: string | undefined, end: string | undefined) => {
      if (name === undefined) return '${';
      if (end === '' || !/^[A-Za-z_]\w*$/.test(name)) {
        problems.push({
          path,
          message: 'expected ${NAME} after the first ${; write $${ for these two characters',
        });
        return reference;
      }
      const value = env[name];
      // Inherited members of objects are not variables.
      if (typeof value !== 'string') {
        problems.push({ path, message: `the environment variable ${name} is not set` });
        return reference;
      }
      variables.push({ path, name, value });
      return value;
    });

  const expand = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') return expandText(value, path);
    if (typeof value !== 'object' || value === null) return value;
    if (done.has(value)) return done.get(value);
    if (Array.isArray(value)) {
      const copy: unknown[] = [];
      done.set(value, copy);
      for (const [index, item] of value.entries()) copy.push(expand(item, [...path, index]));
      return copy;
    }
    if (!isPlain(value)) return value;
    const copy = {};
    done.set(value, copy);
    for (const [key, item] of Object.entries(value)) {
      // Defined instead of assigned, because a key may be `__proto__`.
      const descriptor = {
        value: expand(item, [...path, key]),
        enumerable: true,
        configurable: true,
        writable: true,
      };
      Object.defineProperty(copy, key, descriptor);
    }
    return copy;
  };

  return { value: expand(root, []), variables, problems };
}

/** Whether one of two paths is a prefix of the other. */
export function related(one: Path, other: Path): boolean {
  return one.slice(0, other.length).every((key, index) => key === other[index]);
}

/** Replaces the values of variables in a message by their names, also if the message quotes them. */
export function redact(message: string, variables: readonly Variable[]): string {
  const shown = variables.flatMap(({ name, value }) => [
    { name, value },
    { name, value: JSON.stringify(value).slice(1, -1) },
  ]);
  return shown
    .filter(({ value }) => value !== '')
    .sort((a, b) => b.value.length - a.value.length)
    .reduce((text, { name, value }) => text.replaceAll(value, () => `\${${name}}`), message);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
