"""The item store on DynamoDB."""
