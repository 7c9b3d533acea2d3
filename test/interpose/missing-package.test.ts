import path from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { ONE_PROCESS, started, withConfig } from './tiered.js';

/** Has Node look for a package from where there is none. */
const hookFor = (missing: string) => `export const resolve = (name, context, next) =>
  next(name, name === '${missing}' ? { ...context, parentURL: 'file:///nowhere/module.js' } : context);`;
const urlOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const without = (missing: string) =>
  urlOf(`import { register } from 'node:module'; register(${JSON.stringify(urlOf(hookFor(missing)))});`);

function tieredWithout(missing: string, ...args: readonly string[]) {
  const [node = '', ...rest] = ONE_PROCESS;
  return started([node, '--import', without(missing), ...rest, ...args]);
}

it.each<[string, (config: string, above: string) => readonly string[]]>([
  ['run', (config) => ['run', '--config', config, '--', 'echo', 'started']],
  ['run --at', (_, above) => ['run', '--at', path.join(above, 'session'), '--', 'echo', 'started']],
  ['daemon', (config, above) => ['daemon', '--config', config, '--at', path.join(above, 'session')]],
  ['trace', (_, above) => ['trace', path.join(above, 'trace')]],
])('tiered %s says what to install where @tiered/interpose is not, and fails', async (_, argsFor) => {
  const running = tieredWithout('@tiered/interpose', ...argsFor(withConfig().config, temporaryDirectory()));
  expect([await running.ended, running.out(), running.messages()]).toEqual([
    1,
    '',
    'This command needs a package that is not installed: npm install @tiered/interpose\n',
  ]);
});

it('other commands of tiered do without @tiered/interpose', async () => {
  const running = tieredWithout('@tiered/interpose', 'config', 'check', withConfig().config);
  expect([await running.ended, running.messages()]).toEqual([0, '']);
});

it('what @tiered/interpose misses itself is not taken for it', async () => {
  const running = tieredWithout('tinyqueue', 'run', '--config', withConfig().config, '--', 'echo', 'started');
  expect([await running.ended, running.out()]).toEqual([1, '']);
  expect(running.messages()).toContain("Cannot find package 'tinyqueue'");
  expect(running.messages()).not.toContain('npm install @tiered/interpose');
});
