import { Command } from 'commander';
import type { VerifyOptions } from '../actions/verify.js';
import type { CommandHost } from '../host.js';
import { wholeNumber } from '../numbers.js';

/** `tiered verify`. */
export function verifyCommand(host: CommandHost): Command {
  return new Command('verify')
    .summary('Compares the checksums of all copies')
    .argument('<config>', 'the configuration')
    .option('--level <n>', 'only this tier; default: all', wholeNumber)
    .option('--json', 'every wrong copy as JSON')
    .description('Reads all copies on the tiers and compares their checksums; changes nothing')
    .action(async (file: string, options: VerifyOptions) => {
      const { verify } = await import('../actions/verify.js');
      await verify(host, file, options);
    });
}
