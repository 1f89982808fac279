"""The local run: the AWS process, its stack, the real handlers, an HTTP front."""
