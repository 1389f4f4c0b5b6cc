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

type input struct {
	name   string
	kind   string // the name of the format
	format format
	files  []string
	state  int64     // changes with the names, sizes and times of the files
	stdin  io.Reader // nil if there are files
}

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
	i.format = formats[i.kind]
	return i, nil
}

func (i *input) add(path string, info fs.FileInfo) {
	i.files = append(i.files, path)
	i.state += hash([]byte(fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())))
}

// goSource asks the go command, because a program that was built with -trimpath
// does not know its source directory.
func goSource() (string, error) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the Go installation (go env GOROOT): %w; name an input with -input", err)
	}
	return filepath.Join(strings.TrimSpace(string(output)), "src"), nil
}

func (i *input) find() error {
	info, err := os.Stat(i.name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		i.kind = cmp.Or(i.kind, formatOf(i.name))
		i.add(i.name, info)
		return nil
	}
	if i.kind == "" {
		return fmt.Errorf("%s is a directory: choose with -format which of its files to read", i.name)
	}
	root, err := filepath.EvalSymlinks(i.name) // Go's src may be a link, which WalkDir does not follow
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || i.kind == "lines" && entry.Name()[0] == '.' || i.kind != "lines" && i.kind != formatOf(path) {
			return err
		}
		info, err := os.Stat(path) // of the file that a link leads to
		if err == nil && info.Mode().IsRegular() {
			i.add(path, info)
		}
		return err
	})
	if err == nil && len(i.files) == 0 {
		err = fmt.Errorf("no file in %s is read as %s", i.name, i.kind)
	}
	return err
}

// open opens a file at a byte. Reads of the file return when ctx ends.
func (i *input) open(ctx context.Context, path string, at int64) (io.ReadCloser, error) {
	source := i.stdin
	if source == nil {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
			_, err2 := file.Seek(at, io.SeekStart)
			return file, errors.Join(err, err2)
		}
		source = file
	}
	out, in := io.Pipe()
	go func() { // if a Read of the source blocks, this stays behind
		_, err := io.Copy(in, source)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(errors.New("interrupted")) })
	_, err := io.CopyN(io.Discard, out, at)
	return out, err
}
