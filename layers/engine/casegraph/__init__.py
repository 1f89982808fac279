"""Casegraph: durable, human-in-the-loop workflows on AWS Lambda, DynamoDB and SQS."""

__version__ = "0.1.0"
