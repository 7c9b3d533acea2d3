import type { Variable } from '@tiered/config/internal';
import { REMOVED } from '../configuration/shown.js';

/** A text that must not be shown, and what stands for it. */
export interface Replacement {
  readonly text: string;
  readonly by: string;
}

/** Shorter texts are replaced only between quotes: anything may have them in it. */
const LEAST_LENGTH = 5;

/** Names of environment variables whose values are secrets, by all that one knows. */
const SECRET = /(^|_)(KEY|SECRET|TOKEN|PASS|PASSWORD|PASSWD|CREDENTIALS?)(_|$)/i;

/** Replaces what must not be shown, wherever it stands, in whatever form messages have it. */
export class Scrubber {
  readonly #by = new Map<string, string>();
  readonly #pattern: RegExp | undefined;

  /** @param replacements The first of two for one text counts. */
  constructor(replacements: readonly Replacement[]) {
    const forms = new Set<string>();
    for (const { text, by } of replacements) {
      for (const form of formsOf(text)) {
        forms.add(form);
        const folded = form.toLowerCase();
        if (!this.#by.has(folded)) this.#by.set(folded, by);
      }
    }
    // The longest first: one text may be a part of another. In any case, because hosts change to lower case.
    const pattern = [...forms].sort((a, b) => b.length - a.length).map(escaped);
    if (pattern.length > 0) this.#pattern = new RegExp(pattern.join('|'), 'gi');
  }

  text(text: string): string {
    if (this.#pattern === undefined) return text;
    return text.replace(this.#pattern, (found) => this.#by.get(found.toLowerCase()) ?? REMOVED);
  }

  /** Does so with all texts in a value that is plain data. */
  all<T>(value: T): T {
    return mapped(value, (text) => this.text(text)) as T;
  }
}

/** Replacements of the values of variables by their names. */
export function ofVariables(variables: readonly Variable[]): Replacement[] {
  return variables.map(({ name, value }) => ({ text: value, by: `\${${name}}` }));
}

/** Replacements of texts that are just not shown. */
export function ofHidden(hidden: readonly string[]): Replacement[] {
  return hidden.map((text) => ({ text, by: REMOVED }));
}

/** Replacements of what the environment keeps secret, whether a configuration names it or not. */
export function ofEnvironment(env: Readonly<Record<string, string | undefined>>): Replacement[] {
  return Object.entries(env)
    .filter(([name, value = '']) => SECRET.test(name) && value.length >= LEAST_LENGTH)
    .map(([name, text = '']) => ({ text, by: `\${${name}}` }));
}

/** A text as messages may show it: plain, as JSON, as a part of a URL. */
function formsOf(text: string): string[] {
  if (text === '') return [];
  const quoted = JSON.stringify(text);
  if (text.length < LEAST_LENGTH) return [quoted];
  return [text, quoted.slice(1, -1), encoded(text)];
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // Half of a surrogate pair.
    return text;
  }
}

/** A text as a part of a regular expression that means itself. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** A value that is plain data, with all its texts changed. */
export function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapped(item, change)]));
}
