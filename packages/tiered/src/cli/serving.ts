import type { Command } from 'commander';
import { repeated } from './repeated.js';

/** What the option --config of commands names that serve a hierarchy to programs. */
export const SERVED = 'a configuration whose tiers are directories, and its source, unless --root is given';

/** Adds the options that say how a hierarchy is served to programs. */
export function addServingOptions(command: Command): Command {
  return command
    .option(
      '--root <path>',
      'for a source that is no directory, such as a bucket: the path below which programs find its objects',
    )
    .option(
      '--farm <directory>',
      'for programs that nothing can be loaded into, such as static ones: links to the copies, or else to the source, made in this directory',
    )
    .option('--record <file>', 'writes down which objects are opened, in order; there must be no such file')
    .option(
      '--replay <file>',
      'a trace of an earlier run, or of "tiered trace": what is opened next is placed ahead; may be repeated',
      repeated,
      [],
    )
    .option(
      '--alias <path>',
      'another path by which programs come to the source, such as a link to it; up to three, not with --root',
      repeated,
      [],
    );
}
