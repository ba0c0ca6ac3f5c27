"""What a schema is: Avro, JSON Schema and Protobuf; which data another version can read."""
