"""Everything that is wrong with a bundle, at once, each problem with its place: `validate.validate`."""
