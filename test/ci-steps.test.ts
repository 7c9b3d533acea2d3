import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

/** What is printed of these steps, and how it ends. */
function run(steps: readonly object[], options: object = {}) {
  const program = `
    const { runSteps } = await import('./tools/ci/run-steps.mjs');
    process.exitCode = (await runSteps(${JSON.stringify(steps)}, ${JSON.stringify(options)})) ? 0 : 1;`;
  const args = ['--input-type=module', '--eval', program];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

describe('the steps of CI', () => {
  it('count as one each, and all are run', () => {
    const steps = ['true', 'exit 3', 'true'].map((command, i) => ({ name: `step ${i}`, command }));
    const { status, lines } = run(steps);
    expect(status).toBe(1);
    expect(lines.at(-1)).toBe('2 passed, 1 failed');
    expect(lines.slice(-4, -1)).toEqual([
      expect.stringMatching(/^00:\d\d step 0$/),
      expect.stringMatching(/^00:\d\d step 1: FAILED \(1\)$/),
      expect.stringMatching(/^00:\d\d step 2$/),
    ]);
  });

  it('end where one fails that the others need', () => {
    const steps = [
      { name: 'install', command: 'false', needed: true },
      { name: 'never', command: 'true' },
    ];
    expect(run(steps)).toMatchObject({
      status: 1,
      lines: expect.arrayContaining(['0 passed, 1 failed']) as unknown,
    });
  });

  // What vitest is told, and what it would have written.
  it.each([
    ['passed', { numPassedTests: 3, numTotalTests: 3, testResults: [] }, 0, '3 passed, 0 failed'],
    ['were skipped', { numPassedTests: 2, numTotalTests: 3, testResults: [] }, 0, '2 passed, 1 failed'],
    [
      'were outlived by an error',
      { numPassedTests: 3, numTotalTests: 3, testResults: [] },
      1,
      '3 passed, 1 failed',
    ],
    [
      'could not be loaded',
      { numPassedTests: 3, numTotalTests: 3, testResults: [{ status: 'failed', assertionResults: [] }] },
      1,
      '3 passed, 1 failed',
    ],
  ])('count their tests, which %s', (_, report, status, last) => {
    const command = `write() { echo '${JSON.stringify(report)}' > "\${3#--outputFile.json=}"; return ${status}; }; write`;
    const { lines, status: ended } = run([{ name: 'tests', command, tests: true }]);
    expect(lines.at(-1)).toBe(last);
    expect(ended).toBe(last.endsWith(' 0 failed') ? 0 : 1);
  });

  it('say loudly that they took too long, and fail for no such reason', () => {
    const { status, lines } = run([{ name: 'one', command: 'true' }], { minutes: 0 });
    expect(status).toBe(0);
    expect(lines.join('\n')).toContain('TOO LONG');
  });
});

it('properties are tried with all their cases in CI, and with a fifth elsewhere', () => {
  const tried = (numRuns?: number) => {
    let runs = 0;
    fc.assert(
      fc.property(fc.nat(), () => void (runs += 1)),
      numRuns === undefined ? {} : { numRuns },
    );
    return runs;
  };
  const part = process.env['CI'] === 'true' ? 1 : 5;
  expect([tried(), tried(500), tried(1)]).toEqual([100 / part, 500 / part, 1]);
});
