// What bin/tiered.js runs in a clone.
import { runTiered } from '../src/cli/index.ts';

process.exitCode = await runTiered(process.argv.slice(2));
