"""From a workflow folder to the canonical bundle; never imported by a Lambda function."""
