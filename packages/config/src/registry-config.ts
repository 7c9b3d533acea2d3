/** NATS JetStream as a registry. */
export interface NatsConfig {
  readonly servers: readonly string[];
  readonly token?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly credsFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly replicas?: number | undefined;
}

/** A table in which processes find each other: a file on this machine, or NATS for several machines. */
export type TableConfig = 'sqlite' | { readonly sqlite: string } | { readonly nats: NatsConfig };

/** Settings as written in a file, with text where a variable may be used. */
export type Written<Settings> = {
  readonly [Field in keyof Settings]: Settings[Field] | (number extends Settings[Field] ? string : never);
};
