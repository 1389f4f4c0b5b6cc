package main

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Each put has an id: it can be repeated when its answer was lost.
func (t *trial) feed(ctx context.Context) error {
	group, putting := errgroup.WithContext(ctx)
	group.SetLimit(64) // puts that wait for the servers at a time
	n := 0
	err := identifiers(t.options.directory, func(identifier string) bool {
		n++
		id := fmt.Sprint(n)
		t.put[identifier]++
		group.Go(func() error { return t.putOne(putting, identifier, id) })
		return n < t.options.events && putting.Err() == nil
	})
	failed := group.Wait()
	if err == nil && failed == nil && ctx.Err() == nil && n < t.options.events {
		err = fmt.Errorf("%s has %d identifiers: want -events %d or more", t.options.directory, n, t.options.events)
	}
	return errors.Join(err, failed, ctx.Err())
}

func (t *trial) putOne(ctx context.Context, identifier, id string) error {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; {
		if err = t.node.PutOnce(ctx, identifier, []byte("1"), id); err == nil {
			t.progress.Add(1)
			return nil
		}
		if ctx.Err() != nil {
			break
		}
		t.warned.Do(func() {
			t.say("a put has failed, and is repeated for up to %v, like others after it: %v", patience, err)
		})
	}
	return errors.Join(ctx.Err(), err)
}

// identifiers yields the identifiers of Go files, each time they occur.
func identifiers(directory string, yield func(string) bool) error {
	return filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile("", -1, len(source)), source, nil, 0)
		for {
			switch _, what, text := s.Scan(); {
			case what == token.EOF:
				return nil
			case what == token.IDENT && !yield(text):
				return fs.SkipAll
			}
		}
	})
}
