"""The blob store on S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from casegraph.adapters.aws_errors import error_code, translating

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3BlobStore:
    """The `BlobStore` port on one bucket. client: made by `aws_clients.s3_client`."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        with translating("write"):
            self._client.put_object(Bucket=self._bucket, Key=name, Body=body)

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`. A missing object is 404 only to whoever may list the bucket (template.yaml)."""
        with translating("read"):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=name)
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise
            return answer["Body"].read()

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        with translating("write"):
            self._client.delete_object(Bucket=self._bucket, Key=name)
