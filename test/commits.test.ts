import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mistakesIn } from '../tools/commits/subject.js';

const TOOLS = path.join(import.meta.dirname, '../tools/commits');

/** Nobody's settings, and no repository that a hook named which runs the tests. */
const ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: os.devNull,
  GIT_CONFIG_NOSYSTEM: '1',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, 'Somebody'],
      [`GIT_${who}_EMAIL`, 'somebody@example.com'],
    ]),
  ),
};

/** A directory of its own, with the tools in it as the project has them. */
class Project {
  readonly directory: string;

  constructor(directory = fs.mkdtempSync(path.join(os.tmpdir(), 'commits-'))) {
    this.directory = directory;
    onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
    fs.cpSync(TOOLS, path.join(directory, 'tools/commits'), { recursive: true });
  }

  /** A repository without a commit. */
  static repository(): Project {
    const project = new Project();
    project.git('init', '--quiet', '--initial-branch=main');
    return project;
  }

  git(...args: string[]): string {
    const options = { cwd: this.directory, env: ENVIRONMENT, encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync('git', args, options).trim();
  }

  /** Commits nothing, with this message. Undefined, or why a hook refused it. */
  commit(message: string, ...options: string[]): string | undefined {
    const args = ['commit', '--quiet', '--allow-empty', '-m', message, ...options];
    const { status, stderr } = spawnSync('git', args, {
      cwd: this.directory,
      env: ENVIRONMENT,
      encoding: 'utf8',
    });
    return status === 0 ? undefined : stderr;
  }

  /** Runs one of the tools. */
  run(tool: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.join(this.directory, 'tools/commits', tool), ...args],
      { cwd: this.directory, env: { ...ENVIRONMENT, ...env }, encoding: 'utf8' },
    );
    return { status, output: stdout + stderr };
  }

  get hook(): string {
    return path.join(this.directory, '.git/hooks/commit-msg');
  }
}

describe('the subject of a commit', () => {
  it.each([
    'tiering: give leases back',
    'index, shim: share what is mapped',
    'tiered run: pass signals on from the beginning',
    '@tiered/core: process batches',
    'node-fs-adapter: need no descriptor',
    'core: embed the table',
    `core: ${'x'.repeat(66)}`,
    "Merge branch 'mds'",
    `Revert "core: ${'x'.repeat(66)}"`,
  ])('may be: %s', (subject) => expect(mistakesIn(subject)).toEqual([]));

  it.each([
    ['Give leases back', /area/],
    ['Tiering: give leases back', /area/],
    ['tiering:give leases back', /area/],
    ['tiering: Give leases back', /imperative/],
    ['tiering: gave back: leases.', /full stop/],
    ['tiering: gives leases back', /imperative/],
    ['tiering: added leases', /imperative/],
    ['tiering: adding leases', /imperative/],
    ['tiering: a lease is given back', /imperative/],
    ['bench: figures, and tests', /imperative/],
    [`core: ${'x'.repeat(67)}`, /73 characters/],
  ])('may not be: %s', (subject, mistake) => {
    expect(mistakesIn(subject)).toEqual([expect.stringMatching(mistake)]);
  });
});

describe('npm run commits', () => {
  it('names the commits since a base whose subjects are wrong, and nobody else', () => {
    const project = Project.repository();
    project.commit('Old');
    const base = project.git('rev-parse', 'HEAD');
    project.commit('core: read the table');
    project.git('checkout', '--quiet', '-b', 'other', base);
    project.commit('core: write the table');
    project.git('merge', '--quiet', '--no-edit', 'main');
    project.commit('Revert "Old"');
    const fine = project.run('check.js', [base]);
    expect(fine).toEqual({ status: 0, output: 'Commits whose subjects were checked: 3.\n' });
    project.commit('core: writes the table');
    project.commit('core: write the table\nand the index', '--cleanup=verbatim');
    project.commit('fixup! core: write the table');
    const { status, output } = project.run('check.js', [base]);
    expect(status).toBe(1);
    expect(output.match(/^\S+ .*\n {2}.*$/gm)?.map((text) => text.slice(text.indexOf(' ') + 1))).toEqual([
      'fixup! core: write the table\n  is to be melted into another (git rebase --autosquash)',
      'core: writes the table\n  does not say what changes by an imperative: writes the table',
    ]);
  });

  it('checks all that there is in a shallow clone, which has not where the rule began', () => {
    const project = Project.repository();
    for (const subject of ['Old', 'core: read', 'core: write']) project.commit(subject);
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'commits-'));
    project.git('clone', '--quiet', '--depth=2', `file://${project.directory}`, directory);
    const clone = new Project(directory);
    expect(clone.run('check.js')).toEqual({ status: 0, output: 'Commits whose subjects were checked: 2.\n' });
    clone.git('remote', 'remove', 'origin');
    clone.commit('Wrong');
    expect(clone.run('check.js').status).toBe(1);
  });

  it('fails where there is no repository, and for a base that is not there', () => {
    expect(new Project().run('check.js').status).not.toBe(0);
    const project = Project.repository();
    project.commit('core: read');
    expect(project.run('check.js', ['missing']).status).not.toBe(0);
  });
});

describe('the hook', () => {
  it('refuses a commit whose subject is wrong, and keeps the message', () => {
    const project = Project.repository();
    expect(project.run('install-hook.js')).toEqual({ status: 0, output: '' });
    expect(project.commit('core: read the table\n\nBecause it is read.')).toBeUndefined();
    expect(project.commit('core: reads the table')).toContain('git commit -eF .git/COMMIT_EDITMSG');
    expect(project.git('log', '--format=%s')).toBe('core: read the table');
    expect(project.commit('fixup! core: read the table')).toBeUndefined();
    expect(project.commit(`core: read\nwhat is ${'x'.repeat(54)}`)).toContain('73 characters');
  });

  it('lets merges through, works in other work trees, and holds up no branch without the check', () => {
    const project = Project.repository();
    project.commit('core: begin');
    project.run('install-hook.js');
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'commits-'));
    project.git('worktree', 'add', '--quiet', '-b', 'other', directory);
    const bare = { cwd: directory, env: ENVIRONMENT } as const;
    const commit = ['commit', '--quiet', '--allow-empty', '-m', 'Older than the check'];
    expect(spawnSync('git', commit, bare).status).toBe(0);
    const other = new Project(directory);
    expect(other.run('install-hook.js')).toEqual({ status: 0, output: '' });
    expect(other.commit('Wrong')).toContain('area');
    project.commit('core: go on');
    project.git('merge', '--quiet', '--no-edit', 'other');
    expect(project.git('log', '-1', '--format=%s')).toBe("Merge branch 'other'");
  });

  it('is left alone once it is there, with what somebody added to it', () => {
    const project = Project.repository();
    project.run('install-hook.js');
    fs.appendFileSync(project.hook, '# and mine\n');
    expect(project.run('install-hook.js')).toEqual({ status: 0, output: '' });
    expect(fs.readFileSync(project.hook, 'utf8')).toMatch(/# and mine\n$/);
  });

  it('replaces no other, in a file, behind a link, or where several repositories have theirs', () => {
    const project = Project.repository();
    fs.writeFileSync(project.hook, '#!/bin/sh\n');
    expect(project.run('install-hook.js').output).toContain('there is another one');
    expect(fs.readFileSync(project.hook, 'utf8')).toBe('#!/bin/sh\n');
    fs.rmSync(project.hook);
    fs.symlinkSync('../elsewhere', project.hook);
    expect(project.run('install-hook.js').output).toContain('there is another one');
    expect(fs.existsSync(path.join(project.directory, '.git/elsewhere'))).toBe(false);
    fs.rmSync(project.hook);
    project.git('config', 'core.hooksPath', 'shared');
    const { status, output } = project.run('install-hook.js');
    expect([status, output]).toEqual([0, expect.stringContaining('core.hooksPath is set')]);
    expect([project.hook, path.join(project.directory, 'shared')].some((name) => fs.existsSync(name))).toBe(
      false,
    );
  });

  it('is not installed in CI, outside of a repository, or inside another one', () => {
    const project = Project.repository();
    expect(project.run('install-hook.js', [], { CI: 'true' })).toEqual({ status: 0, output: '' });
    const inside = new Project(path.join(project.directory, 'vendor'));
    expect(inside.run('install-hook.js')).toEqual({ status: 0, output: '' });
    expect(fs.existsSync(project.hook)).toBe(false);
    const unpacked = new Project();
    expect(unpacked.run('install-hook.js')).toEqual({ status: 0, output: '' });
    expect(fs.readdirSync(unpacked.directory)).toEqual(['tools']);
  });
});
