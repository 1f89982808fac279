"""The composition root: settings to adapters to ports, made once per process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from casegraph.adapters.aws_clients import dynamodb_client, s3_client, sqs_client
from casegraph.adapters.clock import RandomIds, SystemClock
from casegraph.adapters.component_registry import ComponentRegistry
from casegraph.adapters.connector_registry import ConnectorRegistry
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.adapters.s3 import S3BlobStore
from casegraph.adapters.sqs import SqsJobQueue
from casegraph.application.context import Ports
from casegraph.application.versions import StoredVersions
from casegraph.runtime.lazy_schemas import LazyJsonSchemas
from casegraph.runtime.observability import LambdaJournal
from casegraph.runtime.settings import Settings

# Hosts that a connector of the local run may call: it is the developer's own machine.
_LOCAL_HOSTS = ("127.0.0.1", "localhost")

# A list over 32 or 64 shards in a few round trips; well below the connections of the client.
_READ_THREADS = 8


@dataclass(frozen=True)
class Container:
    """What a function needs. components: the registry, whose output schemas a publication copies."""

    settings: Settings
    ports: Ports
    journal: LambdaJournal
    components: ComponentRegistry


@cache
def container() -> Container:
    """This process's container, from its environment. Raises `SettingsError`."""
    return build(Settings.from_environment())


def build(settings: Settings) -> Container:
    """A container for these settings. On the local AWS process an unknown connector records what it would send."""
    endpoint = settings.aws_endpoint_url
    store = DynamoDBItemStore(dynamodb_client(endpoint), settings.table_name)
    blobs = S3BlobStore(s3_client(endpoint), settings.payload_bucket)
    jobs = SqsJobQueue(sqs_client(endpoint), settings.execute_queue_url, settings.dispatch_queue_url)
    clock, journal, components = SystemClock(), LambdaJournal(settings.log_level), ComponentRegistry()
    connectors = ConnectorRegistry(
        store,
        clock,
        allowed_hosts=_LOCAL_HOSTS if endpoint else (),
        fallback={"kind": "recorder"} if endpoint else None,
    )
    ports = Ports(
        store=store,
        blobs=blobs,
        jobs=jobs,
        clock=clock,
        ids=RandomIds(),
        components=components,
        connectors=connectors,
        journal=journal,
        versions=StoredVersions(store, blobs),
        installation_id=settings.installation_id,
        schemas=LazyJsonSchemas(),
        read_threads=_READ_THREADS,
    )
    return Container(settings, ports, journal, components)
