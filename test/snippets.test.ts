import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');
/** Inside the repository, so that the packages are found. */
const directory = path.join(root, 'node_modules', '.cache', `snippets-${process.pid}`);

/** Every block of TypeScript in the documents, each as a program. */
function snippets(): { name: string; text: string }[] {
  const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' });
  return listed.split('\0').flatMap((document) => {
    if (document === '') return [];
    const blocks = fs.readFileSync(path.join(root, document), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm);
    return [...blocks].map(([, text = ''], i) => ({ name: `${document} ${i + 1}`, text }));
  });
}

const all = snippets().map((snippet, i) => ({ ...snippet, file: path.join(directory, `snippet-${i}.ts`) }));

function optionsOf(config: string): ts.CompilerOptions {
  const { config: json } = ts.readConfigFile(config, (file) => fs.readFileSync(file, 'utf8')) as {
    config: unknown;
  };
  return ts.parseJsonConfigFileContent(json, ts.sys, root).options;
}

/** What a snippet leaves to its reader. */
const READERS = 'declare global {\n  function step(...what: unknown[]): void;\n}\nexport {};\n';

describe('the documents', () => {
  beforeAll(() => {
    fs.mkdirSync(directory, { recursive: true });
    for (const { file, text } of all) fs.writeFileSync(file, text);
    fs.writeFileSync(path.join(directory, 'readers.d.ts'), READERS);
  });

  afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

  it('have code that compiles', () => {
    const files = [...all.map(({ file }) => file), path.join(directory, 'readers.d.ts')];
    const program = ts.createProgram(files, optionsOf(path.join(root, 'tsconfig.json')));
    const found = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
      const name = all.find((snippet) => snippet.file === file?.fileName)?.name ?? file?.fileName;
      const line = file?.getLineAndCharacterOfPosition(start).line ?? 0;
      return `${name}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
    expect(found).toEqual([]);
  });

  it.each(all)('have code that runs: $name', async ({ file }) => {
    const flags = ['--conditions=tiered-source', '--import', 'tsx'];
    await promisify(execFile)(process.execPath, [...flags, file], { cwd: root, timeout: 100_000 });
  });
});
