import { WHOLE } from '../packages/config/src/fields.js';

/** A JSON Schema, as far as it is made and shown here. */
export interface JsonSchema {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string;
  readonly const?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[] | undefined;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

/** Tables in Markdown that tell every field: one for each schema, under its heading. */
export function tablesOf(schemas: Readonly<Record<string, JsonSchema>>): string {
  return Object.entries(schemas)
    .map(([heading, schema]) => {
      const rows = rowsOf(schema).map((cells) => `| ${cells.join(' | ')} |`);
      return [`### ${heading}`, '', '| field | value | meaning |', '| --- | --- | --- |', ...rows, ''].join(
        '\n',
      );
    })
    .join('\n');
}

function rowsOf({ properties = {}, required = [] }: JsonSchema, above = ''): string[][] {
  return Object.entries(properties).flatMap(([key, field]) => {
    const value = `${valueOf(field)}${required.includes(key) ? ', required' : ''}`;
    const inside = rowsOf(field, `${above}${key}.`);
    return [
      [`\`${above}${key}\``, value, field.description ?? ''],
      ...choicesOf(field, above + key),
      ...(field.anyOf ?? []).flatMap((one) => rowsOf({ ...one, required: [] }, `${above}${key}.`)),
      ...inside,
    ];
  });
}

/** Of a field that is a name, or a mapping with a name and options: every name, and its options. */
function choicesOf(field: JsonSchema, name: string): string[][] {
  const choices = (field.anyOf ?? []).flatMap(({ oneOf = [] }) => oneOf);
  return choices.flatMap((choice) => {
    const { name: constant, ...options } = choice.properties ?? {};
    const inside = rowsOf({ ...choice, properties: options }, `${name}.`);
    return [[`\`${name}: ${String(constant?.const)}\``, 'a choice', choice.description ?? ''], ...inside];
  });
}

function valueOf({ type, anyOf = [], minimum, exclusiveMinimum }: JsonSchema): string {
  const bound = minimum === undefined ? `more than ${exclusiveMinimum}` : `at least ${minimum}`;
  const words: Readonly<Record<string, string>> = {
    integer: `whole number, ${bound}`,
    number: `number, ${bound}`,
    boolean: 'true or false',
    string: 'text',
    object: 'mapping',
    array: 'list',
  };
  if (type !== undefined) return words[type] ?? type;
  const number = anyOf.find((one) => one.type === 'integer' || one.type === 'number');
  if (number === undefined) return 'name, or mapping with name and options';
  const isCount = anyOf.some(({ pattern }) => typeof pattern === 'string' && pattern.startsWith(WHOLE));
  return isCount || number.type === 'number' ? valueOf(number) : 'size';
}
