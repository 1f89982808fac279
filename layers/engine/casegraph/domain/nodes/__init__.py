"""One module per node kind, and the table of them."""
