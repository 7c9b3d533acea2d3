import type { HierarchyConfig } from '@tiered/config';
import { Document, isMap, isScalar } from 'yaml';

/** Says of a field why it has its value. */
export interface Remark {
  /** The keys that lead to the field. */
  readonly field: readonly string[];
  readonly text: string;
}

/** Writes a configuration as YAML, with each remark above its field. */
export function yamlOf(config: HierarchyConfig, remarks: readonly Remark[]): string {
  const document = new Document(config);
  for (const { field, text } of remarks) {
    const holder = document.getIn(field.slice(0, -1), true);
    const pairs = isMap(holder) ? holder.items : [];
    for (const { key } of pairs)
      if (isScalar(key) && key.value === field.at(-1)) key.commentBefore = ` ${text}`;
  }
  return document.toString();
}
