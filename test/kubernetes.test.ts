import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { wrongWithWords } from './command-words.js';

const root = path.join(import.meta.dirname, '..');
const manifests = path.join(root, 'docs/kubernetes');
/** Below the repository, so that types are found. */
const directory = path.join(root, 'node_modules/.cache', `kubernetes-${process.pid}`);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
}

const files = fs.readdirSync(manifests).filter((name) => name.endsWith('.yaml'));
const textOf = (name: string) => fs.readFileSync(path.join(manifests, name), 'utf8');
const all = files.flatMap((name) =>
  parseAllDocuments(textOf(name)).map((document) => ({ name, manifest: document.toJS() as Manifest })),
);

/** What the API of Kubernetes would not take: unknown fields, missing ones, wrong types. */
function mistakesIn(objects: readonly Manifest[]): string[] {
  const programs = objects.map((object, at) => {
    const file = path.join(directory, `manifest-${at}.ts`);
    const { apiVersion, kind } = object;
    const text = `import type { I${kind} } from 'kubernetes-models/${apiVersion}';
export const manifest: I${kind} = ${JSON.stringify(object)};
`;
    fs.writeFileSync(file, text);
    return file;
  });
  const options = { strict: true, noEmit: true, skipLibCheck: true };
  const { NodeNext } = ts.ModuleKind;
  const checked = ts.createProgram(programs, {
    ...options,
    module: NodeNext,
    target: ts.ScriptTarget.ES2022,
  });
  return programs.flatMap((file) =>
    checked
      .getSemanticDiagnostics(checked.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
  );
}

describe('manifests for Kubernetes', () => {
  beforeAll(() => {
    fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }');
  });

  afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

  it('have the fields that its API knows', () => {
    expect(mistakesIn(all.map(({ manifest }) => manifest))).toEqual([]);
    const [mistake = ''] = mistakesIn([{ ...all[0]?.manifest, spce: {} } as unknown as Manifest]);
    expect(mistake).toContain('spce');
  });

  it.each(files)('%s runs commands that there are', (name) => {
    const shown = Array.from(textOf(name).matchAll(/exec npx tiered ([^\n]+)/g), ([, words = '']) =>
      words.trim(),
    );
    expect(shown).not.toEqual([]);
    for (const words of shown) expect(wrongWithWords(words)).toBeUndefined();
  });
});
