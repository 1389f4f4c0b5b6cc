package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An input is everything that the program reads.
type input struct {
	name   string
	kind   string // the name of the format
	format format
	files  []string
	stdin  io.Reader // nil if there are files
}

// openInput finds the files of the input and their format.
func openInput(config config, stdin io.Reader) (i input, err error) {
	i = input{name: config.input, kind: config.format}
	if i.name == "" {
		i.kind = cmp.Or(i.kind, "go")
		if i.name, err = goSource(); err != nil {
			return i, err
		}
	}
	if i.name == "-" {
		i.name, i.kind, i.stdin = "standard input", cmp.Or(i.kind, "lines"), stdin
		i.files = []string{i.name}
	} else if err := i.find(); err != nil {
		return i, fmt.Errorf("-input: %w", err)
	}
	i.format, err = newFormat(i.kind, config.key)
	return i, err
}

// goSource returns the source directory of the Go installation. The go command
// knows it, but a program that was built with -trimpath does not.
func goSource() (string, error) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the Go installation (go env GOROOT): %w; name an input with -input", err)
	}
	return filepath.Join(strings.TrimSpace(string(output)), "src"), nil
}

// find lists a file, or the files below a directory that belong to the format.
func (i *input) find() error {
	info, err := os.Stat(i.name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		i.kind, i.files = cmp.Or(i.kind, formatOf(i.name)), []string{i.name}
		return nil
	}
	if i.kind == "" {
		return fmt.Errorf("%s is a directory: choose with -format which of its files to read", i.name)
	}
	// Some systems install Go's src as a symbolic link, which WalkDir does not
	// follow.
	root, err := filepath.EvalSymlinks(i.name)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || i.kind == "lines" && entry.Name()[0] == '.' || i.kind != "lines" && i.kind != formatOf(path) {
			return err
		}
		info, err := os.Stat(path) // of the file that a link leads to
		if err == nil && info.Mode().IsRegular() {
			i.files = append(i.files, path)
		}
		return err
	})
	if err == nil && len(i.files) == 0 {
		err = fmt.Errorf("no file in %s is read as %s", i.name, i.kind)
	}
	return err
}

// open opens a file. Its Reads return when ctx ends.
func (i *input) open(ctx context.Context, path string) (io.ReadCloser, error) {
	source := i.stdin
	if source == nil {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
			return file, err
		}
		source = file
	}
	out, in := io.Pipe()
	go func() { // if a Read of the source blocks, this stays behind
		_, err := io.Copy(in, source)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(errors.New("interrupted")) })
	return out, nil
}
