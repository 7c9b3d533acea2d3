import { Command, CommanderError } from 'commander';
import { versionText } from '../version.js';
import { benchCommand } from './commands/bench.js';
import { calibrateCommand } from './commands/calibrate.js';
import { configCommand } from './commands/config.js';
import { controlCommand } from './commands/control.js';
import { daemonCommand } from './commands/daemon.js';
import { doctorCommand } from './commands/doctor.js';
import { envCommand } from './commands/env.js';
import { gcCommand } from './commands/gc.js';
import { indexCommand } from './commands/index-samples.js';
import { inspectCommand } from './commands/inspect.js';
import { rescanCommand } from './commands/rescan.js';
import { runCommand } from './commands/run.js';
import { serveCommand } from './commands/serve.js';
import { simulateCommand } from './commands/simulate.js';
import { statsCommand } from './commands/stats.js';
import { topCommand } from './commands/top.js';
import { traceCommand } from './commands/trace.js';
import { verifyCommand } from './commands/verify.js';
import { warmupCommand } from './commands/warmup.js';
import type { CommandHost } from './host.js';

/**
 * The command `tiered`. A command loads what it needs when it runs, so that `--help` loads nothing heavy. No
 * command asks anything.
 */
export function tieredCommand(host: CommandHost): Command {
  return (
    new Command('tiered')
      .description('Gets training data to the loader in time: storage tiering, prefetching and simulation.')
      .option('-V, --version', 'print the version of this command')
      // Only if it is asked for: in a clone, git says which commit this is.
      .on('option:version', () => {
        host.write(`${versionText(import.meta.dirname)}
`);
        throw new CommanderError(0, 'commander.version', '');
      })
      // Options behind the program of `tiered run` are the program's.
      .enablePositionalOptions()
      .addHelpText(
        'after',
        '\nExit codes: 0 success, 1 a failure, 2 arguments or a configuration that cannot work.',
      )
      .addCommand(configCommand(host))
      .addCommand(doctorCommand(host))
      .addCommand(warmupCommand(host))
      .addCommand(statsCommand(host))
      .addCommand(topCommand(host))
      .addCommand(indexCommand(host))
      .addCommand(inspectCommand(host))
      .addCommand(verifyCommand(host))
      .addCommand(gcCommand(host))
      .addCommand(calibrateCommand(host))
      .addCommand(benchCommand(host))
      .addCommand(simulateCommand(host))
      .addCommand(runCommand(host))
      .addCommand(daemonCommand(host))
      .addCommand(serveCommand(host))
      .addCommand(controlCommand(host))
      .addCommand(envCommand(host))
      .addCommand(rescanCommand(host))
      .addCommand(traceCommand(host))
  );
}
