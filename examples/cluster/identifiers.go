package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// identifiers yields the identifiers of all Go files below a directory, as
// often as they occur.
func identifiers(directory string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		stopped := false
		err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for identifier := range identifiersOf(source) {
				if !yield(identifier, nil) {
					stopped = true
					return fs.SkipAll
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield("", err)
		}
	}
}

func identifiersOf(source []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		var s scanner.Scanner
		files := token.NewFileSet()
		s.Init(files.AddFile("", files.Base(), len(source)), source, nil, 0)
		for {
			switch _, what, text := s.Scan(); what {
			case token.EOF:
				return
			case token.IDENT:
				if !yield(text) {
					return
				}
			}
		}
	}
}
