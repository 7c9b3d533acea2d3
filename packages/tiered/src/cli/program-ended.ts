/** A command ran a program, and ends with its exit code. */
export class ProgramEnded extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`The program ended with exit code ${code}.`);
    this.name = 'ProgramEnded';
    this.code = code;
  }
}
