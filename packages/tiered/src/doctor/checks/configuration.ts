import { findingsOn, type Finding } from '../finding.js';
import type { ExaminedLevel } from '../../configuration/levels.js';

const { ok, problem } = findingsOn('configuration');

/** What a configuration is that can work. */
export function configurationThatWorks(
  levels: readonly ExaminedLevel[],
  variables: readonly { readonly name: string }[],
): Finding[] {
  const tiers = levels.length - 1;
  const names = [...new Set(variables.map(({ name }) => name))];
  return [
    ok(`a source and ${tiers === 0 ? 'no tiers' : `${tiers} tier${tiers === 1 ? '' : 's'}`}`),
    ...(names.length === 0
      ? []
      : [ok(`all environment variables that it needs are set: ${names.join(', ')}`)]),
  ];
}

/**
 * Everything that is wrong with a configuration.
 * @param message Of the error that it was refused with: a line, or a line for each mistake after a first one
 * that counts them.
 */
export function configurationThatIsWrong(message: string): Finding[] {
  const [first = '', ...others] = message.split('\n');
  const mistakes = others.length === 0 ? [first] : others.map((line) => line.trim());
  return mistakes.map((mistake) =>
    / environment variable \S+ is not set/.test(mistake)
      ? problem(mistake, 'Set it where the training is started, and where this command is.')
      : problem(mistake),
  );
}
