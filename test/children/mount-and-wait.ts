import { SlowMount } from '../../tools/fuse/slow-mount.js';

/** Mounts a directory, says where, and does not end by itself. */
const mount = await SlowMount.start(process.argv[2] ?? '');
process.send?.(mount.directory);
process.once('disconnect', () => process.exit());
