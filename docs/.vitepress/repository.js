/** Where the sources are, for links to what is not on the site. */
export const REPOSITORY = 'https://github.com/tiered-io/tiered';
