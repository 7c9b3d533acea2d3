import fc from 'fast-check';

/**
 * Properties draw from one seed, so that what fails in CI fails here too. The nightly run draws from that of
 * the commit, so that each commit tries others. TIERED_SEED in the environment, a whole number, is taken
 * instead.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['TIERED_SEED']) });
