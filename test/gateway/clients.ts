/** A script of `clients` that reads by one client, and how this client tells what it was refused. */
export interface Client {
  readonly name: string;
  readonly script: string;
  /** The environment of tools/frameworks that it needs. CI has the first, the nightly run has both. */
  readonly environment: 'clients' | 'torch';
  /** The variable that names its program. It is left out without it, because nobody has to have it. */
  readonly program?: string;
  /** Undefined where the script does not try it, because the client cannot, or says nothing. */
  readonly missing?: RegExp;
  readonly write?: RegExp;
  readonly delete?: RegExp;
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'boto3',
    script: 'with_boto3.py',
    environment: 'clients',
    missing: /^NoSuchKey: /,
    write: /^AccessDenied: .*This endpoint only reads/,
    delete: /^AccessDenied: .*This endpoint only reads/,
  },
  {
    name: 'the aws command line',
    script: 'with_aws.py',
    environment: 'clients',
    missing: /\(404\)/,
    write: /\(AccessDenied\)/,
  },
  {
    name: 's3fs, fsspec, pandas and Dask',
    script: 'with_s3fs.py',
    environment: 'clients',
    missing: /^FileNotFoundError: /,
    write: /^PermissionError: .*This endpoint only reads/,
  },
  {
    name: "Arrow's S3 file system",
    script: 'with_pyarrow.py',
    environment: 'clients',
    missing: /^FileNotFoundError: /,
    write: /AWS Error ACCESS_DENIED .*This endpoint only reads/,
  },
  {
    name: 'Polars',
    script: 'with_polars.py',
    environment: 'clients',
    missing: /NotFound|404/,
    write: /AccessDenied/,
  },
  {
    name: 'DuckDB',
    script: 'with_duckdb.py',
    environment: 'clients',
    missing: /404|No files found/,
    write: /403|AccessDenied/,
  },
  {
    name: 'obstore',
    script: 'with_obstore.py',
    environment: 'clients',
    missing: /^FileNotFoundError: /,
    write: /AccessDenied/,
  },
  {
    name: 'LanceDB',
    script: 'with_lancedb.py',
    environment: 'clients',
    missing: /^ValueError: Table 'missing' was not found/,
    write: /AccessDenied/,
  },
  {
    name: 'rclone',
    script: 'with_rclone.py',
    environment: 'clients',
    program: 'RCLONE',
    write: /AccessDenied/,
  },
  {
    name: 'S3 Connector for PyTorch',
    script: 'with_torchconnector.py',
    environment: 'torch',
    missing: /^S3Exception: .*key does not exist/,
  },
  {
    name: 'MosaicML Streaming',
    script: 'with_streaming.py',
    environment: 'torch',
    missing: /^ClientError: Object \S+ not found/,
  },
];
