import { native } from '../../src/index.js';

process.stdout.write(JSON.stringify(native()));
