/** Markup that is written as it is. All else that comes into `html` is text. */
export class Markup {
  readonly text: string;

  /** @param text Must be markup of our own, or of a library that escapes. */
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Markup | readonly Value[];

const NAMED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes markup of a template: what is put into it is escaped, for text and for quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(parts.map((part, i) => `${i === 0 ? '' : written(values[i - 1] ?? '')}${part}`).join(''));
}

function written(value: Value): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(written).join('\n');
  return String(value).replace(/[&<>"']/g, (character) => NAMED[character] ?? '');
}
