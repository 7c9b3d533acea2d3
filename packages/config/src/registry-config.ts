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

/** A table that processes find each other in: a file of this machine, or NATS for several machines. */
export type TableConfig = 'sqlite' | { readonly sqlite: string } | { readonly nats: NatsConfig };

/** As text where a variable may stand. */
export type Written<Settings> = {
  readonly [Field in keyof Settings]: Settings[Field] | (number extends Settings[Field] ? string : never);
};
