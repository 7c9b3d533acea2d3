/** The environment variable that names the directory of a daemon's session to programs. */
export const VARIABLE = 'TIERED_INTERPOSE';
