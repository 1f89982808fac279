"""The item store on DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from casegraph.adapters import refusals
from casegraph.adapters.dynamodb.errors import translating
from casegraph.adapters.dynamodb.marshal import from_attributes, to_attribute, to_attributes
from casegraph.adapters.dynamodb.render import Placeholders, rules_expression, update_expression
from casegraph.adapters.indexes import Index, index_of
from casegraph.application.ports import Page
from casegraph.domain.writes import Check, Delete, Item, Key, Put, Table, Update, Write
from casegraph.errors import Throttled
from casegraph.limits import STORE_BATCH_GET_MAX_KEYS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TableName = Callable[[Table], str]


class DynamoDBItemStore:
    """The `ItemStore` port on DynamoDB. Thread-safe, as its client is.

    client: made by `aws_clients.dynamodb_client` (the SDK's retries must be off).
    table_name: the deployed name of each table (`Settings.table_name`).
    """

    def __init__(self, client: DynamoDBClient, table_name: TableName) -> None:
        self._client = client
        self._table_name = table_name
        self._tables = {table_name(table): table for table in Table}

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        with translating("read"):
            answer = self._client.get_item(
                TableName=self._table_name(key.table), Key=_key(key), ConsistentRead=True
            )
        return from_attributes(answer["Item"]) if answer.get("Item") else None

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`. Raises `Throttled` when DynamoDB answers none of what is left."""
        found: dict[Key, Item] = {}
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), STORE_BATCH_GET_MAX_KEYS):
            found |= self._batch(wanted[start : start + STORE_BATCH_GET_MAX_KEYS])
        return {key: found[key] for key in wanted if key in found}

    def query(
        self,
        table: Table,
        pk: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """See `ItemStore.query`."""
        refusals.check_page(prefix, after, limit)
        request = self._partition(table, pk, prefix) | {"ScanIndexForward": not newest_first}
        start = None if after is None else {"pk": {"S": pk}, "sk": {"S": after}}
        items, last = self._read(request, start, limit)
        return Page(items, last["sk"]["S"] if last else None)

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`."""
        request = self._partition(table, pk, prefix) | {"Select": "COUNT"}
        total = 0
        while True:
            with translating("read"):
                answer = self._client.query(**request)
            total += answer["Count"]
            if not answer.get("LastEvaluatedKey"):
                return total
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def query_index(
        self,
        table: Table,
        index: str,
        pk: str,
        *,
        low: int | str | None = None,
        high: int | str | None = None,
        after: Any | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """See `ItemStore.query_index`. `next_after` is [sort value, pk, sk]: plain JSON, for a cursor."""
        refusals.check_limit(limit)
        definition = index_of(table, index)
        if low is not None and high is not None and low > high:  # type: ignore[operator]
            return Page([])  # DynamoDB refuses an empty range
        request = {
            "TableName": self._table_name(table),
            "IndexName": index,
            "ScanIndexForward": not newest_first,
            **_range(definition, pk, low, high),
        }
        items, last = self._read(request, _index_start(definition, pk, after), limit)
        if last is None:
            return Page(items)
        place = from_attributes(last)
        return Page(items, [place[definition.sort], place["pk"], place["sk"]])

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`."""
        refusals.check_single(write)
        request = self._request(write)
        with translating("write", [write]):
            match write:
                case Put():
                    self._client.put_item(**request)
                case Delete():
                    self._client.delete_item(**request)
                case _:
                    answer = self._client.update_item(**request, ReturnValues="ALL_NEW")
                    return from_attributes(answer["Attributes"])
        return None

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`. Raises `TokenReused` for another body under a valid token."""
        refusals.check_transaction(writes, token)
        items: list[Any] = [{_ACTIONS[type(write)]: self._request(write)} for write in writes]
        with translating("write", writes):
            self._client.transact_write_items(TransactItems=items, ClientRequestToken=token)

    def _request(self, write: Write) -> dict[str, Any]:
        placeholders = Placeholders()
        request: dict[str, Any] = {
            "TableName": self._table_name(write.key.table),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if isinstance(write, Put):
            request["Item"] = to_attributes(refusals.complete(write))
        else:
            request["Key"] = _key(write.key)
        if isinstance(write, Update):
            request["UpdateExpression"] = update_expression(write, placeholders)
        if write.rules:
            request["ConditionExpression"] = rules_expression(write.rules, placeholders)
        return request | placeholders.parameters()

    def _partition(self, table: Table, pk: str, prefix: str) -> dict[str, Any]:
        condition, values = "pk = :pk", {":pk": {"S": pk}}
        if prefix:
            condition, values = (
                f"{condition} AND begins_with(sk, :prefix)",
                values | {":prefix": {"S": prefix}},
            )
        return {
            "TableName": self._table_name(table),
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }

    def _read(
        self, request: dict[str, Any], start: dict[str, Any] | None, limit: int
    ) -> tuple[list[Item], Mapping[str, Any] | None]:
        """At most `limit` items, over as many of DynamoDB's 1 MB pages as it takes, and the key to go on from."""
        items: list[Item] = []
        while len(items) < limit:
            place: dict[str, Any] = {"ExclusiveStartKey": start} if start else {}
            with translating("read"):
                answer = self._client.query(**request, **place, Limit=limit - len(items))
            items += [from_attributes(attributes) for attributes in answer["Items"]]
            start = answer.get("LastEvaluatedKey")
            if not start:
                return items, None
        return items, start

    def _batch(self, keys: Sequence[Key]) -> dict[Key, Item]:
        found: dict[Key, Item] = {}
        left: Mapping[str, Any] = self._batch_request(keys)
        while left:
            with translating("read"):
                answer = self._client.batch_get_item(RequestItems=left)
            read = {
                Key(self._tables[name], item["pk"], item["sk"]): item
                for name, rows in answer["Responses"].items()
                for item in map(from_attributes, rows)
            }
            found |= read
            unread = answer.get("UnprocessedKeys", {})
            if unread and not read:
                raise Throttled("a batch of reads was throttled")
            left = unread
        return found

    def _batch_request(self, keys: Sequence[Key]) -> dict[str, Any]:
        request: dict[str, Any] = {}
        for key in keys:
            table = request.setdefault(self._table_name(key.table), {"Keys": [], "ConsistentRead": True})
            table["Keys"].append(_key(key))
        return request


_ACTIONS: Mapping[type[Any], str] = {Put: "Put", Update: "Update", Delete: "Delete", Check: "ConditionCheck"}


def _key(key: Key) -> dict[str, Any]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _range(index: Index, pk: str, low: Any, high: Any) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = f"{placeholders.path((index.partition,))} = {placeholders.value(pk)}"
    if low is not None or high is not None:
        condition += " AND " + _bounds(placeholders.path((index.sort,)), low, high, placeholders)
    return {"KeyConditionExpression": condition, **placeholders.parameters()}


def _bounds(path: str, low: Any, high: Any, placeholders: Placeholders) -> str:
    if low is None:
        return f"{path} <= {placeholders.value(high)}"
    if high is None:
        return f"{path} >= {placeholders.value(low)}"
    return f"{path} BETWEEN {placeholders.value(low)} AND {placeholders.value(high)}"


def _index_start(index: Index, pk: str, after: Any | None) -> dict[str, Any] | None:
    if after is None:
        return None
    sort, item_pk, item_sk = after
    return {
        "pk": {"S": item_pk},
        "sk": {"S": item_sk},
        index.partition: {"S": pk},
        index.sort: to_attribute(sort),
    }
