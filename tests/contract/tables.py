"""The engine's tables made from the index table, for moto: named as the enum names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from casegraph.adapters.indexes import indexes_of
from casegraph.domain.writes import Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def create_tables(client: DynamoDBClient) -> None:
    """Create every table with its indexes."""
    for table in Table:
        client.create_table(TableName=table.value, BillingMode="PAY_PER_REQUEST", **_definition(table))


def _definition(table: Table) -> dict[str, Any]:
    types = {"pk": "S", "sk": "S"}
    indexes = []
    for index in indexes_of(table):
        types |= {index.partition: "S", index.sort: "N" if index.sort_type is int else "S"}
        keys = _keys(index.partition, index.sort)
        indexes.append(
            {"IndexName": index.name, "KeySchema": keys, "Projection": {"ProjectionType": "KEYS_ONLY"}}
        )
    definition: dict[str, Any] = {
        "KeySchema": _keys("pk", "sk"),
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in types.items()],
    }
    return definition | ({"GlobalSecondaryIndexes": indexes} if indexes else {})


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]
