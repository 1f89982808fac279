"""The ports on AWS, in memory and over HTTP."""
