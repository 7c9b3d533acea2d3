export { bundleOf } from './bundle/bundle.js';
export { assertNew, writeBundle } from './bundle/write.js';
export { diagnose } from './diagnose.js';
export { type Finding } from './finding.js';
