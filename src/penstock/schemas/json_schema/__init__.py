"""JSON Schema, draft-04 to 2020-12: parsing, comparing, and checking documents."""

from penstock.schemas.json_schema.schema import JsonSchema, parse
from penstock.schemas.json_schema.validation import Problem, problems

__all__ = ["JsonSchema", "Problem", "parse", "problems"]
