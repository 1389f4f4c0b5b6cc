package shard

import (
	"errors"

	"github.com/shardq/shardq/internal/sentinel"
)

// ErrShutDown is the error of [Set.Take] where [Set.Get] returns true.
var ErrShutDown = sentinel.ErrShutDown

// Errors of [Set.TryAdd] and [Set.AddContext].
var (
	ErrFull     = errors.New("shardq: queue is full")
	ErrRejected = errors.New("shardq: item is not equal to itself")
)

// ErrNotAgain is the error of an add whose item was added within its window.
var ErrNotAgain = errors.New("shardq: item was added within its window")
