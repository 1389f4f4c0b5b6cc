package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// identifiers calls yield for the identifiers of all Go files below a directory,
// as often as they occur, until it returns false.
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
