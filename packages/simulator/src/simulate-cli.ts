#!/usr/bin/env node
import { simulateCommand } from './cli/command.js';
import { processHost, runCommand } from './cli/host.js';

process.exitCode = await runCommand(simulateCommand(processHost), process.argv.slice(2), processHost);
