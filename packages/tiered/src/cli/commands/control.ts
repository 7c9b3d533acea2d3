import { Command } from 'commander';
import type { CommandHost } from '../host.js';
import { addAdmitCommand } from './control-admit.js';
import { addServeCommand } from './control-serve.js';
import { addSetCommand } from './control-set.js';
import { addShowCommand } from './control-show.js';
import { addWhyCommand } from './control-why.js';

/** `tiered control`. */
export function controlCommand(host: CommandHost): Command {
  const control = new Command('control')
    .summary('Shows and sets how jobs share sources')
    .description('Shows how jobs share sources, and sets the share of each');
  addShowCommand(control, host);
  addSetCommand(control, host);
  addWhyCommand(control, host);
  addAdmitCommand(control, host);
  addServeCommand(control, host);
  return control;
}
