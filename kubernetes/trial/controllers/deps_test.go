package main

// What the binary with shardq imports, so that this module requires it.
import (
	_ "github.com/puzpuzpuz/xsync/v3"
	_ "golang.org/x/time/rate"

	_ "github.com/shardq/shardq"
)
