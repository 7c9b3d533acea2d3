#!/usr/bin/env node
import { simulateCommand } from './command.js';
import { processHost, runCommand } from './host.js';

process.exitCode = await runCommand(simulateCommand(processHost), process.argv.slice(2), processHost);
