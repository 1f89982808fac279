"""What a Lambda function is made of: settings, the composition root, HTTP, batches, observability."""
