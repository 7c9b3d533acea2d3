import { SqliteRegistry } from '@tiered/cluster/registry';
import { look } from '@tiered/control';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ControlView } from '../../src/control-room/view.js';
import { putStages } from './control-records.js';
import { onTerminal, simulated, tiered } from './run-tiered.js';

const EXPORT = 'server:/export';
let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-control-'));
  file = path.join(directory, 'control.db');
});
afterEach(() => rm(directory, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

const control = (command: string, ...args: string[]) =>
  tiered('control', command, '--registry', file, ...args);

/** Two jobs that want more than the source gives, of which the second has two stages. */
const startTwo = () =>
  putStages(file, [
    { job: 'imagenet', terms: { weight: 2 }, stall: 0.25, report: { budget: { bytes: 150e6 } } },
    { job: 'llm', report: { budget: { bytes: 150e6 } } },
    { job: 'llm', stall: 1, node: 'node-2', report: { waits: 1 } },
  ]);

async function policyNow() {
  const registry = new SqliteRegistry({ path: file });
  await registry.open({});
  const { policy } = await look(registry);
  await registry.close();
  return policy;
}

describe('tiered control show', () => {
  it('says what each job wants, gets and uses', async () => {
    await startTwo();
    const { code, out, messages } = await control('show');
    expect([code, messages]).toEqual([0, '']);
    const [headline, shared, head, imagenet, llm, ...rest] = out.split('\n');
    expect(headline).toBe('source server:/export: 150 MB/s (143.1 MiB/s), as its jobs say');
    expect(shared).toMatch(/^ {2}jobs share 140.9 MiB\/s of it: 98.5 %/);
    expect(head).toMatch(/^ {2}job +weight +priority +wants +gets +uses +requests +waits +stall +stages$/);
    expect(imagenet).toMatch(
      /^ {2}imagenet +2 +0 +everything +9[\d.]+ MiB\/s +38.1 MiB\/s +400\/s +50 % +25 % +1$/,
    );
    expect(llm).toMatch(/^ {2}llm +1 +0 +everything +4[\d.]+ MiB\/s +76.3 MiB\/s +800\/s +75 % +100 % +2$/);
    expect(rest).toEqual(['operators have set nothing', '']);
  });

  it('says the same as JSON, with null for what has no bound', async () => {
    await startTwo();
    const { out } = await control('show', '--json');
    const view = JSON.parse(out) as ControlView;
    expect(view).toMatchObject({ revision: 0, setBy: null, idle: [], policy: null });
    expect(view.sources).toMatchObject([
      {
        source: EXPORT,
        budget: { bytes: 150e6, operations: null },
        budgetFrom: 'options',
        jobs: [
          { job: 'imagenet', weight: 2, stall: 0.25 },
          { job: 'llm', weight: 1, waits: 0.75, stages: 2 },
        ],
      },
    ]);
    const [one = 0, other = 0] = (view.sources[0]?.jobs ?? []).map(({ share }) => share.bytes ?? 0);
    expect(one / other).toBeCloseTo(2);
    expect(one + other).toBeLessThanOrEqual(150e6);
    expect(view.nodes).toMatchObject([
      { node: 'node-1', stages: 2, memoryBytes: { used: 0, most: null } },
      { node: 'node-2', stages: 1 },
    ]);
  });

  it('says where a budget is not known, and which jobs do not read yet', async () => {
    await putStages(file, [{ job: 'alone' }, { job: 'new', sources: {} }]);
    const { out } = await control('show');
    expect(out).toContain('source server:/export: not known yet\n');
    expect(out).toMatch(/alone +1 +0 +everything +no bound/);
    expect(out).toContain('\njob new reads from no source yet\n');
  });

  it('says what to do where no job is', async () => {
    await putStages(file, []);
    const { code, out } = await control('show');
    expect(code).toBe(0);
    expect(out).toContain(`No job is in sqlite:${file}. A job comes in by the section "control"`);
    expect(JSON.parse((await control('show', '--json')).out)).toMatchObject({ sources: [], nodes: [] });
  });

  it('says what is wrong with what is no file', async () => {
    const { code, messages } = await tiered('control', 'show', '--registry', directory);
    expect(code).toBe(1);
    expect(messages).toContain('is not a file; name one that is or will be');
  });

  it('looks into the registry of this user if none is named', async () => {
    vi.stubEnv('XDG_RUNTIME_DIR', directory);
    const own = path.join(directory, `tiered-${process.getuid?.() ?? 'run'}`);
    expect((await tiered('control', 'show')).messages).toContain(`There is no registry ${own}/control.db`);
    expect((await tiered('control', 'show', '--name', 'mine')).messages).toContain(`${own}/mine.db`);
    expect(await control('show', '--name', 'mine')).toMatchObject({ code: 2 });
  });
});

describe('a look', () => {
  const looks: [string, ...string[]][] = [
    ['control', 'show'],
    ['control', 'show', '--json'],
    ['control', 'why', 'imagenet'],
    ['control', 'admit', '--bytes-per-second', '80MB'],
    ['control', 'serve'],
    ['control', 'set', '--clear', '--all'],
    ['top', '--all', '--count', '1'],
  ];

  it.each(looks)('[U6] makes no registry where none is: %s %s', async (...args) => {
    const missing = path.join(directory, 'typo', 'control.db');
    const { code, out, messages } = await tiered(...args, '--registry', missing);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(messages).toMatch(
      /^There is no registry \S+control.db. A job comes in by .*give --config, --registry/,
    );
    expect(await readdir(directory)).toEqual([]);
    await writeFile(file, '');
    expect(await tiered(...args, '--registry', file)).toMatchObject({ code: 1, out: '' });
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it.each([...looks, ['control', 'set', '--job', 'a', '--weight', '2']])(
    '[U6] leaves a file alone that is no registry: %s %s',
    async (...args) => {
      await writeFile(file, 'source: { driver: fs }\n', { mode: 0o600 });
      const { code, messages } = await tiered(...args, '--registry', file);
      expect({ code, messages }).toEqual({
        code: 2,
        messages: expect.stringContaining(`${file} is no registry of jobs`),
      });
      expect(await readdir(directory)).toEqual(['control.db']);
      expect(await readFile(file, 'utf8')).toBe('source: { driver: fs }\n');
    },
  );
});

describe('the configuration of a job', () => {
  it('says where it meets the others', async () => {
    const config = path.join(directory, 'tiers.json');
    const source = { driver: 'fs', root: directory };
    const shared = { job: '${NO_SUCH_JOB}', registry: { sqlite: 'control.db' } };
    // A look needs no job, and nothing of the data.
    const tiers = [{ driver: 'fs', root: '/cache/${NO_SUCH_JOB}', quota: '1GB' }];
    await writeFile(config, JSON.stringify({ source, tiers, control: shared }));
    await startTwo();
    const { out } = await control('show');
    expect(await tiered('control', 'show', '-c', config)).toMatchObject({ code: 0, out });
    expect((await tiered('top', config, '--all', '--count', '1')).out).toContain('source server:/export');
    const both = await control('show', '--config', config);
    expect(both).toMatchObject({ code: 2, messages: expect.stringContaining('not both') });
    await writeFile(config, JSON.stringify({ source }));
    const none = await tiered('control', 'why', 'imagenet', '-c', config);
    expect(none).toMatchObject({ code: 2, messages: expect.stringContaining('no section "control"') });
  });
});

describe('tiered control set', () => {
  it('sets what holds for all, and leaves the rest as it was', async () => {
    await startTwo();
    const first = await control('set', '--source', EXPORT, '--bytes-per-second', '60MB');
    expect(first).toMatchObject({ code: 0, messages: '' });
    expect(first.out).toMatch(
      /^revision 1, set by \S+@\S+:\n {2}source server:\/export: 60 MB\/s \(57.2 MiB\/s\)\n$/,
    );
    await control('set', '--source', EXPORT, '--operations-per-second', '900');
    await control('set', '--job', 'llm', '--weight', '3', '--at-least', '10MB');
    await control('set', '--job', 'llm', '--priority', '-1', '--at-most', '40MB');
    await control('set', '--node', '*', '--memory', '8GiB', '--producers', '32');
    expect(await policyNow()).toMatchObject({
      revision: 5,
      sources: { [EXPORT]: { bytes: 60e6, operations: 900 } },
      jobs: { llm: { weight: 3, priority: -1, atLeast: { bytes: 10e6 }, atMost: { bytes: 40e6 } } },
      nodes: { '*': { memory: 8 * 2 ** 30, producers: 32 } },
    });
    const { out } = await control('show');
    expect(out).toContain(
      'source server:/export: 60 MB/s (57.2 MiB/s), 900 requests/s, as operators have set it',
    );
    expect(out).toContain('node node-2, 1 stage: 0 B of 8 GiB of memory, 0 of 32 producers');
    expect(out).toContain(
      '  job llm: weight 3, priority -1, at least 10 MB/s (9.5 MiB/s), at most 40 MB/s (38.1 MiB/s)',
    );
  });

  it('clears what was set of one thing, or everything, and says what it was', async () => {
    await startTwo();
    await control('set', '--source', EXPORT, '--bytes-per-second', '60MB');
    await control('set', '--job', 'llm', '--weight', '3');
    const one = await control('set', '--job', 'llm', '--clear');
    expect(one.out).toMatch(/^removed: job llm: weight 3\nrevision 3, set by/);
    expect(await policyNow()).toMatchObject({ sources: { [EXPORT]: { bytes: 60e6 } }, jobs: {} });
    const none = await control('set', '--job', 'imagenet', '--clear');
    expect(none).toMatchObject({ code: 0, messages: 'note: nothing was set of the job imagenet\n' });
    const { out, messages } = await control('set', '--clear', '--all');
    expect(out).toMatch(
      /^removed: source server:\/export: 60 MB\/s \(57.2 MiB\/s\)\nrevision 5, set by \S+: nothing\n$/,
    );
    expect(messages).toBe('');
    expect(await policyNow()).toMatchObject({ sources: {}, jobs: {}, nodes: {} });
    expect((await control('set', '--clear', '--all')).messages).toBe('note: nothing was set\n');
  });

  it('clears nothing if it is not said what', async () => {
    await startTwo();
    await control('set', '--job', 'llm', '--weight', '3');
    const { code, messages } = await control('set', '--clear');
    expect(code).toBe(2);
    expect(messages).toContain('say what to clear: --source, --job or --node with a name, or --all');
    expect(await policyNow()).toMatchObject({ revision: 1, jobs: { llm: { weight: 3 } } });
  });

  it('takes a rate as people write it', async () => {
    await startTwo();
    await control('set', '--job', 'llm', '--at-most', '20MB/s');
    expect((await policyNow())?.jobs).toEqual({ llm: { atMost: { bytes: 20e6 } } });
  });

  it.each([
    [['--source', EXPORT, '--bytes-per-second', '100'], 'bytes-per-second is only 100 B/s; a unit says more'],
    [['--node', '*', '--memory', '8'], 'memory is only 8 B; a unit says more'],
    [
      ['--job', 'llm', '--at-least', '200MB'],
      'at-least of llm comes to 200 MB/s (190.7 MiB/s), and server:/export can guarantee 126.8 MiB/s',
    ],
    [['--node', 'nod', '--memory', '8GiB'], 'no stage has a node nod now; there are: node-1, node-2'],
  ])('notes what can hardly be meant: %j', async (args, note) => {
    await startTwo();
    const { code, messages } = await control('set', ...args);
    expect(messages).toContain(`note: ${note}`);
    expect(messages.match(/^note: /gm)).toHaveLength(1);
    expect(code).toBe(0);
  });

  it('notes a budget that is less than what was guaranteed of it', async () => {
    await startTwo();
    expect((await control('set', '--job', 'llm', '--at-least', '100MB')).messages).toBe('');
    const { messages } = await control('set', '--source', EXPORT, '--bytes-per-second', '60MB');
    expect(messages).toContain('note: at-least of llm comes to 100 MB/s (95.4 MiB/s), and server:/export');
  });

  it('refuses a guarantee above the limit, and notes one above what the job says itself', async () => {
    await putStages(file, [{ job: 'bert', terms: { atMost: { bytes: 30e6 } } }]);
    const { messages, code } = await control('set', '--job', 'bert', '--at-least', '40MB');
    expect(messages).toMatch(/^note: at-least of bert is 40 MB\/s \S+ MiB\/s\) and its at-most 30 MB\/s/);
    expect(code).toBe(0);
    const refused = await control('set', '--job', 'bert', '--at-most', '20MB');
    expect(refused).toMatchObject({ code: 2, messages: expect.stringContaining('set both, with at-least') });
    expect(await policyNow()).toMatchObject({ revision: 1 });
  });

  it('says if nobody has what was named', async () => {
    await startTwo();
    const { code, messages } = await control('set', '--job', 'imagnet', '--weight', '2');
    expect(code).toBe(0);
    expect(messages).toBe('note: no stage has a job imagnet now; there are: imagenet, llm\n');
  });

  it.each([
    [['--job', 'a', '--source', 'b', '--weight', '2'], 'give one of source, job'],
    [['--weight', '2'], 'name a source, a job or a node'],
    [['--source', 'a', '--weight', '2'], 'weight is nothing that a source has'],
    [
      ['--source', 'a'],
      'nothing is given for the source a; give one or more of --bytes-per-second, --operations-per-second, or --clear',
    ],
    [['--source', 'a', '--bytes-per-second', '0'], 'bytes-per-second: expected a size above 0'],
    [['--source', 'a', '--bytes-per-second', 'much'], 'bytes-per-second: expected'],
    [['--job', 'a', '--weight', '0'], 'weight: expected a number from 0.001 to 1000'],
    [['--job', 'a', '--weight', '5000'], 'weight: expected a number from 0.001 to 1000'],
    [['--job', 'a', '--priority', '1000'], 'priority: expected a whole number from -100 to 100, got "1000"'],
    [['--node', 'a', '--memory', '8GiB/s'], 'memory: expected'],
    [['--all', '--job', 'a', '--weight', '2'], '--all goes with --clear'],
    [['--job', 'a/b', '--weight', '2'], 'jobs.a/b: expected 1 to 64 letters, digits, ".", "_" and "-"'],
    [['--source', '\n', '--bytes-per-second', '1GB'], 'expected 1 to 256 characters that can be printed'],
    [['--node', 'a', '--producers', '1.5'], 'producers: expected a whole number of at least 1'],
    [['--job', 'a', '--clear', '--weight', '2'], 'clear removes values'],
  ])('refuses %j', async (args, message) => {
    const { code, messages } = await control('set', ...args);
    expect(messages).toContain(message);
    expect(code).toBe(2);
    if ((await readdir(directory)).length > 0) expect(await policyNow()).toBeUndefined();
  });
});

describe('tiered control serve', () => {
  it('says what to do about a port that is taken, or that cannot be', async () => {
    await startTwo();
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as net.AddressInfo;
    expect(await control('serve', '--port', String(port))).toMatchObject({
      code: 2,
      out: '',
      messages: `port ${port} of 127.0.0.1 is in use; give another one, such as --port 0 for a free one\n`,
    });
    const impossible = await control('serve', '--port', '99999');
    expect(impossible).toMatchObject({
      code: 2,
      messages: expect.stringContaining('Give a port from 0 to 65535.'),
    });
  });
});

describe('tiered top --all', () => {
  const all = ['top', '--all', '--count', '2'] as const;

  it('shows all jobs again and again', async () => {
    await startTwo();
    const { code, out } = await simulated(...all, '--registry', file);
    expect(code).toBe(0);
    expect(out.match(/^source server:\/export: 150 MB\/s/gm)).toHaveLength(2);
    expect(out.match(/^ {2}imagenet +2 +0 +everything +9[\d.]+ MiB\/s/gm)).toHaveLength(2);
    const lines = (await simulated(...all, '--registry', file, '--json')).out.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as ControlView).sources)).toHaveLength(2);
  });

  it('fits a terminal of 80 characters', async () => {
    await startTwo();
    const { drawn } = await onTerminal('top', '--all', '--count', '1', '--registry', file);
    const lines = stripVTControlCharacters(drawn).split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}imagenet .*[\d.]+ MiB\/s .* 25 %$/));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('fails where no job is, and for options that do not go together', async () => {
    await putStages(file, []);
    const nobody = await tiered(...all, '--registry', file);
    expect(nobody).toMatchObject({
      code: 1,
      messages: expect.stringContaining(`No job is in sqlite:${file}`),
    });
    expect(await tiered('top', '--name', 'mine')).toMatchObject({ code: 2 });
    expect(await tiered(...all, '--directory', directory)).toMatchObject({ code: 2 });
  });
});
