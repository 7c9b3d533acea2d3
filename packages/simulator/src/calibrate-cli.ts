#!/usr/bin/env node
import { calibrateCommand } from './cli/calibrate-command.js';
import { processHost, runCommand } from './cli/host.js';

process.exitCode = await runCommand(calibrateCommand(processHost), process.argv.slice(2), processHost);
