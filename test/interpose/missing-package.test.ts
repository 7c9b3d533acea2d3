import path from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { ONE_PROCESS, started, withConfig } from './tiered.js';

/** Has Node look for another package in place of `@tiered/interpose`: one that is nowhere. */
const HOOK = `export const resolve = (name, context, next) =>
  next(name === '@tiered/interpose' ? '@tiered/interpose-that-is-not-installed' : name, context);`;
const urlOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const WITHOUT = urlOf(`import { register } from 'node:module'; register(${JSON.stringify(urlOf(HOOK))});`);

function tieredWithout(...args: readonly string[]) {
  const [node = '', ...rest] = ONE_PROCESS;
  return started([node, '--import', WITHOUT, ...rest, ...args]);
}

it.each<[string, (config: string, above: string) => readonly string[]]>([
  ['run', (config) => ['run', '--config', config, '--', 'echo', 'started']],
  ['run --at', (_, above) => ['run', '--at', path.join(above, 'session'), '--', 'echo', 'started']],
  ['daemon', (config, above) => ['daemon', '--config', config, '--at', path.join(above, 'session')]],
  ['trace', (_, above) => ['trace', path.join(above, 'trace')]],
])('tiered %s says what to install where @tiered/interpose is not, and fails', async (_, argsFor) => {
  const running = tieredWithout(...argsFor(withConfig().config, temporaryDirectory()));
  expect([await running.ended, running.out(), running.messages()]).toEqual([
    1,
    '',
    'This command needs a package that is not installed: npm install @tiered/interpose\n',
  ]);
});

it('other commands of tiered do without @tiered/interpose', async () => {
  const running = tieredWithout('config', 'check', withConfig().config);
  expect([await running.ended, running.messages()]).toEqual([0, '']);
});
