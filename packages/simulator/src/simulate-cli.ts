#!/usr/bin/env node
import { systemClock } from '@tiered/core';
import { main } from './cli/command.js';

process.exitCode = await main(process.argv.slice(2), {
  write: (text) => void process.stdout.write(text),
  terminal: process.stderr,
  clock: systemClock,
});
