/**
 * hyparquet puts the fields of structs and the keys of maps into objects by assignment. By the name
 * `__proto__` that would set the prototype, and the value would be lost.
 */
const DANGEROUS = '__proto__';
const STAND_IN = '\0__proto__';

/** The name by which hyparquet knows a column, a field or a key. */
export function safeName(name: string): string {
  return name === DANGEROUS ? STAND_IN : name;
}

/** The name that a safe one stands for. */
export function trueName(name: string): string {
  return name === STAND_IN ? DANGEROUS : name;
}

/** Gives a property of an object its value, whatever the property is called. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== DANGEROUS) object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Gives the names back in lists and objects, which are changed. */
export function restoreNames(value: unknown): void {
  if (Array.isArray(value)) for (const one of value) restoreNames(one);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return;
  const object = value as Record<string, unknown>;
  for (const [name, one] of Object.entries(object)) {
    restoreNames(one);
    if (name !== STAND_IN) continue;
    Reflect.deleteProperty(object, name);
    setOwn(object, DANGEROUS, one);
  }
}
