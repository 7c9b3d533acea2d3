#!/usr/bin/env node
import { calibrateCommand } from './calibrate-command.js';
import { processHost, runCommand } from './host.js';

process.exitCode = await runCommand(calibrateCommand(processHost), process.argv.slice(2), processHost);
