/** Options without their undefined fields. */
export type Defined<T> = {
  [Field in keyof T as undefined extends T[Field] ? never : Field]: T[Field];
} & {
  [Field in keyof T as undefined extends T[Field] ? Field : never]?: Exclude<T[Field], undefined>;
};

/** Returns the options without undefined ones, which count as not given. */
export function definedOf<T extends object>(options: T): Defined<T> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Defined<T>;
}
