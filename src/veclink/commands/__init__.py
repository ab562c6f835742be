"""The commands, one file each: parse, call, print. `cli` puts them together."""
