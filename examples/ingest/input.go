package main

import (
	"bufio"
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
	"sync"
)

type input struct {
	name   string
	kind   string // the name of the format
	format format
	files  []string
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
		i.kind, i.files = cmp.Or(i.kind, formatOf(i.name)), []string{i.name}
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
			i.files = append(i.files, path)
		}
		return err
	})
	if err == nil && len(i.files) == 0 {
		err = fmt.Errorf("no file in %s is read as %s", i.name, i.kind)
	}
	return err
}

// Reads of the file return when ctx ends.
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

func (j *job) readAll() {
	var readers sync.WaitGroup
	for range j.config.readers {
		readers.Go(func() {
			for next := j.files.Add(1); int(next) <= len(j.input.files) && j.ctx.Err() == nil; next = j.files.Add(1) {
				r := &reader{job: j, name: j.input.files[next-1]}
				if err := r.readFile(); err != nil && j.ctx.Err() == nil {
					j.broken.Add(1)
					j.log.Printf("%q: not read to the end: %v", r.name, err)
				}
			}
		})
	}
	readers.Wait()
}

type reader struct {
	*job
	name string
	file io.Reader
}

func (r *reader) readFile() error {
	file, err := r.input.open(r.ctx, r.name)
	if err != nil {
		return err
	}
	defer file.Close()
	r.file = file
	buffered := bufio.NewReaderSize(r, 256<<10)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" { // is not part of the text
		_, _ = buffered.Discard(len(mark))
	}
	return r.input.format(buffered, r)
}

// Read ends with the context.
func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.file.Read(p)
}

// event counts before it puts, for the tally. It does not keep key.
func (r *reader) event(key []byte) {
	r.read.add(1, key)
	r.pipeline.put(r.ctx, string(key))
}

func (r *reader) badRecord(line int, reason string) {
	if n := r.malformed.Add(1); n <= 10 {
		r.log.Printf("malformed: %q:%d: %s", r.name, line, reason)
	} else if n == 11 {
		r.log.Print("malformed: more, which are counted but not named")
	}
}
