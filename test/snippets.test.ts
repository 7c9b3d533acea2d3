import { parseSimulation } from '@tiered/simulator/config';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocks, documents, type Block } from './documents.js';

const root = path.join(import.meta.dirname, '..');
/** Inside the repository, so that the packages are found. */
const directory = path.join(root, 'node_modules', '.cache', `snippets-${process.pid}`);

const all = blocks();
/** By language, the name that its files have: that of JavaScript is a module in any package. */
const EXTENSIONS = new Map([
  ['ts', 'ts'],
  ['js', 'mjs'],
]);
const snippets = all
  .filter(({ language }) => EXTENSIONS.has(language))
  .map((block, i) => ({
    ...block,
    name: `${block.name} (${block.language})`,
    file: path.join(directory, `snippet-${i}.${EXTENSIONS.get(block.language)}`),
  }));
const programs = snippets.filter(({ given }) => given === undefined);

/** Fences that are checked here or elsewhere, and those of commands, output, figures and other libraries. */
const LANGUAGES = [...EXTENSIONS.keys(), 'yaml', 'json', 'sh', 'python', ''];

/** What a reader has installed and this repository has in parts. */
const INSTALLED = `
declare module '@tensorflow/tfjs' {
  export * from '@tensorflow/tfjs-core';
  export * as data from '@tensorflow/tfjs-data';
}`;

/** The block as a program whose lines have the numbers that they have in the document. */
function programOf({ text, line, given = '' }: Block): string {
  return given + '\n'.repeat(line - given.split('\n').length) + text;
}

/** What `tsc --init` turns on, and how packages of this repository are found without a build. */
const OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: true,
  noEmit: true,
  allowJs: true,
  checkJs: true,
  customConditions: ['tiered-source'],
};

/** With the options that README.md tells readers to set. */
function optionsOfReaders(): ts.CompilerOptions {
  const [, told = ''] = /`"compilerOptions": (\{.*?\})`/.exec(documents().get('README.md') ?? '') ?? [];
  const compilerOptions = { ...OPTIONS, ...(JSON.parse(told) as object) };
  return ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, root).options;
}

/** What the compiler says of the snippets. The packages themselves are compiled with other options. */
function diagnostics(): string[] {
  const files = [...snippets.map(({ file }) => file), path.join(directory, 'installed.d.ts')];
  const program = ts.createProgram(files, optionsOfReaders());
  return snippets.flatMap(({ file, name }) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => {
        const line = source?.getLineAndCharacterOfPosition(start).line ?? 0;
        return `${name}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
      },
    );
  });
}

describe('the documents', () => {
  beforeAll(() => {
    fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }');
    fs.writeFileSync(path.join(directory, 'installed.d.ts'), INSTALLED);
    for (const snippet of snippets) fs.writeFileSync(snippet.file, programOf(snippet));
    // What readers are told to have beside the first programs.
    fs.mkdirSync(path.join(directory, 'data'));
    for (const key of ['a', 'b', 'c']) fs.writeFileSync(path.join(directory, 'data', key), key.repeat(1000));
  });

  afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

  it('have no code that is not checked', () => {
    const unchecked = all.filter(
      ({ language, text }) =>
        !LANGUAGES.includes(language) || (language === '' && /^(import|export|const) .*;$/m.test(text)),
    );
    expect(unchecked.map(({ name, language, line }) => `${name} (${language}), line ${line}`)).toEqual([]);
  });

  it('show a simulation that can be read', () => {
    const texts = all.filter(({ language }) => language === 'json').map(({ text }) => text);
    const [simulation = ''] = texts.filter((text) => text.includes('"dataset"'));
    expect(parseSimulation(JSON.parse(simulation)).strategies).toHaveLength(3);
  });

  it('have code that compiles', () => expect(diagnostics()).toEqual([]));

  it.each(programs)('have code that runs: $name', async ({ file }) => {
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, args, { cwd: directory, timeout: 100_000 });
    // As it stands: tsx would translate what this Node cannot read yet.
    if (file.endsWith('.mjs')) await run('--check', file);
    await run('--conditions=tiered-source', '--import', 'tsx', file);
  });
});
