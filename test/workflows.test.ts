import { Ajv } from 'ajv';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = path.join(import.meta.dirname, '..');
const directory = path.join(root, '.github/workflows');

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly needs?: string | string[];
  /** None if the job is another workflow. */
  readonly steps?: Step[];
  readonly permissions?: object;
  readonly strategy?: { readonly matrix: Readonly<Record<string, string[]>> };
}

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The schema of workflows of schemastore.org, under the Apache License 2.0 (test/workflows/LICENSE). */
const schema = path.join(import.meta.dirname, 'workflows/github-workflow.schema.json');
// The schema says of some properties what is said of them elsewhere, and has formats of its own.
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const validate = ajv.compile(JSON.parse(fs.readFileSync(schema, 'utf8')) as object);
const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

const workflows = fs.readdirSync(directory).map((name) => {
  const text = fs.readFileSync(path.join(directory, name), 'utf8');
  return { name, text, workflow: parse(text) as Workflow };
});

/** Nothing here can run them. */
describe.each(workflows)('the workflow $name', ({ text, workflow }) => {
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps ?? []);

  it('is one that GitHub takes', () => {
    validate(workflow);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('needs jobs that are there, and runs scripts that are there', () => {
    const needed = Object.values(workflow.jobs).flatMap(({ needs = [] }) => needs);
    expect(needed.filter((job) => !(job in workflow.jobs))).toEqual([]);
    const commands = steps.map(({ run = '' }) => run).join('\n');
    const ran = [...commands.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(ran.filter((script) => !(script in scripts))).toEqual([]);
    const files = [...commands.matchAll(/\b(?:bash|node) ([\w./-]+)/g)].map(([, file = '']) => file);
    expect(files.filter((file) => !file.startsWith('-') && !fs.existsSync(path.join(root, file)))).toEqual(
      [],
    );
  });

  it('takes actions by commit, and says which version that is', () => {
    const used = text.split('\n').filter((line) => /^\s*-? *uses: (?!\.\/)/.test(line));
    expect(used).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length);
    expect(used.filter((line) => !/uses: [\w./-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it('may read the repository, and no more unless a job says so', () => {
    expect([{}, { contents: 'read' }]).toContainEqual(workflow.permissions);
  });
});

describe('the workflow nightly.yml', () => {
  it('runs every step of the nightly run', () => {
    const [nightly] = workflows.filter(({ name }) => name === 'nightly.yml');
    const ran = nightly?.workflow.jobs['nightly']?.strategy?.matrix['step'] ?? [];
    const list = execFileSync(process.execPath, ['tools/ci/nightly.mjs', '--list'], {
      cwd: root,
      encoding: 'utf8',
    });
    const steps = list
      .split('\n')
      .map((line) => line.split(':')[0] ?? '')
      .filter((name) => name !== '');
    expect(steps.filter((step) => !ran.some((name) => step === name || step.startsWith(`${name}-`)))).toEqual(
      [],
    );
    expect(ran.filter((name) => !steps.some((step) => step === name || step.startsWith(`${name}-`)))).toEqual(
      [],
    );
  });
});

describe('the workflow release.yml', () => {
  it('lets one job alone speak for the project, and nothing else may be changed', () => {
    const [release] = workflows.filter(({ name }) => name === 'release.yml');
    const granted = Object.entries(release?.workflow.jobs ?? {}).flatMap(([job, { permissions = {} }]) =>
      Object.entries(permissions)
        .filter(([, access]) => access === 'write')
        .map(([what]) => `${job}: ${what}`),
    );
    expect(granted).toEqual(['publish: id-token']);
  });
});
