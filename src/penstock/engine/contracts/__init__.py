"""Contracts: registry formats resolved to schemas, and the expressions that read and write them."""
