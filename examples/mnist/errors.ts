/** An error whose message is all that the user of the demo needs. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
