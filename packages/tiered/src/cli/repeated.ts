/** Parses an option that may be repeated: what came before, and this. */
export const repeated = (text: string, before: readonly string[]): readonly string[] => [...before, text];
