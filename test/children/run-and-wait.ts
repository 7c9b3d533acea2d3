/** Keeps a program in the directory it is given, says the program's id, and waits to be killed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Processes } from '../../tools/servers/processes.js';

const [parent = ''] = process.argv.slice(2);
const processes = new Processes(parent, 'kept-');
const file = path.join(processes.directory, 'id');
const script = 'echo $$ > id.new && mv id.new id && exec sleep 1000';
await processes.start('sleep', 'sh', ['-c', script], async () => existsSync(file));
console.log(readFileSync(file, 'utf8').trim());
process.stdin.resume();
