import type { Command } from 'commander';
import { repeated } from './repeated.js';

/** What the source of such commands is. */
export const SOURCE = 'a directory, s3://bucket/prefix/, gs://... or az://...';

/** Adds the options that say how a hierarchy is served to programs. */
export function addServingOptions(command: Command): Command {
  return command
    .option('--config <file>', 'a configuration, in place of a source and --tier')
    .option(
      '--tier <place:quota>',
      'such as /nvme/cache:200GiB, /nvme/cache:80% or ram:8GiB (in /dev/shm), fastest first; may be repeated',
      repeated,
      [],
    )
    .option(
      '--manifest <file>',
      'beside a source: keeps the list of its objects in this file, so that the next start does not list them; "tiered rescan" makes it anew',
    )
    .option(
      '--root <path>',
      'for a source that is no directory: the path below which programs find its objects, $TIERED_ROOT; default: ' +
        '/tiered/BUCKET/PREFIX',
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

/** Adds the option that names a daemon. */
export function addSessionOption(command: Command): Command {
  return command.option(
    '--at <directory>',
    'that of the daemon; default: of the one that this program was started with ($TIERED_INTERPOSE)',
  );
}
