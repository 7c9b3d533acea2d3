"""Makes the tables that the scripts read: python make.py DIRECTORY."""

import sys

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

COUNT = 100_000
ids = np.arange(COUNT)
table = pa.table(
    {"id": ids, "noise": np.random.default_rng(1).random(COUNT), "text": [f"row {i}" for i in ids]}
)
pq.write_table(table, f"{sys.argv[1]}/rows.parquet", row_group_size=10_000)
pa.csv.write_csv(table.slice(0, 1000), f"{sys.argv[1]}/rows.csv")

db = lancedb.connect(sys.argv[1])
db.create_table("lance", table)
vectors = db.create_table("vectors", [{"id": i, "vector": [float(i), 0.0]} for i in range(1000)])
vectors.create_index(metric="l2", num_partitions=4, num_sub_vectors=1, index_type="IVF_FLAT")
