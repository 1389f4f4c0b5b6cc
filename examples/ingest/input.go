package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// A file is one file of the input, or standard input.
type file struct {
	name  string      // for messages; its path, unless it is standard input
	info  fs.FileInfo // nil for standard input
	stdin io.Reader
}

// size returns the size in bytes, or 0 if it is unknown.
func (f file) size() int64 {
	if f.info == nil {
		return 0
	}
	return f.info.Size()
}

func (f file) open() (io.ReadCloser, error) {
	if f.stdin != nil {
		return io.NopCloser(f.stdin), nil
	}
	return os.Open(f.name)
}

// An input is everything that the program reads.
type input struct {
	name   string
	files  []file
	size   int64  // in bytes, 0 if it is unknown
	kind   string // the name of the format
	format format
}

// describe names the input with its size.
func (i input) describe() string {
	if i.size == 0 {
		return i.name
	}
	size := humanize.Bytes(uint64(i.size))
	if len(i.files) == 1 {
		return fmt.Sprintf("%s (%s)", i.name, size)
	}
	return fmt.Sprintf("%s (%s files, %s)", i.name, humanize.Comma(int64(len(i.files))), size)
}

// openInput finds the files of the input and their format. It checks that every
// file can be opened and has the requested key.
func openInput(config config, stdin io.Reader) (input, error) {
	found, err := findInput(config, stdin)
	if err != nil {
		return input{}, err
	}
	found.format, err = newFormat(found.kind, config.key)
	if err != nil {
		return input{}, err
	}
	for _, file := range found.files {
		if err := checkFile(file, found.format); err != nil {
			return input{}, err
		}
		found.size += file.size()
	}
	return found, nil
}

// findInput returns the input with the name of its format, but without the
// format.
func findInput(config config, stdin io.Reader) (input, error) {
	switch config.input {
	case "-":
		files := []file{{name: "standard input", stdin: stdin}}
		return input{name: "standard input", files: files, kind: cmp.Or(config.format, formatLines)}, nil
	case "":
		source, err := goSource()
		if err != nil {
			return input{}, err
		}
		return findFiles(source, cmp.Or(config.format, formatGo))
	}
	return findFiles(config.input, config.format)
}

// goSource returns the source directory of the Go installation. The go command
// knows it, but a program that was built with -trimpath does not.
func goSource() (string, error) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the Go installation (go env GOROOT): %w; name an input with -input", err)
	}
	source := filepath.Join(strings.TrimSpace(string(output)), "src")
	if _, err := os.Stat(source); err != nil {
		return "", fmt.Errorf("the Go installation has no source: %w; name an input with -input", err)
	}
	return source, nil
}

// findFiles lists a file, or the files of a directory. If kind is empty, their
// names imply the format.
func findFiles(path, kind string) (input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return input{}, fmt.Errorf("-input: %w", err)
	}
	if !info.IsDir() {
		kind = cmp.Or(kind, formatByName(path), formatLines)
		return input{name: path, files: []file{{name: path, info: info}}, kind: kind}, nil
	}
	files, err := walk(path, kind)
	if err != nil {
		return input{}, fmt.Errorf("-input: %w", err)
	}
	if kind == "" {
		kind, err = commonFormat(files)
	} else if len(files) == 0 {
		err = fmt.Errorf("no file in it is read as %s", kind)
	}
	if err != nil {
		return input{}, fmt.Errorf("-input %s: %w", path, err)
	}
	return input{name: path, files: files, kind: kind}, nil
}

// walk lists the files under a directory that belong to the format. If kind is
// empty, it lists files of all formats that names imply.
func walk(directory, kind string) ([]file, error) {
	// Some systems install Go's src as a symbolic link, which WalkDir does not
	// follow.
	root, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return nil, err
	}
	var files []file
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !belongs(path, kind) {
			return err
		}
		info, err := os.Stat(path) // follows a link to a file
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			files = append(files, file{name: path, info: info})
		}
		return nil
	})
	return files, err
}

// belongs reports whether a file of that name in a directory is read with the
// format.
func belongs(path, kind string) bool {
	if kind == formatLines {
		return !strings.HasPrefix(filepath.Base(path), ".")
	}
	known := formatByName(path)
	return known != "" && (kind == "" || known == kind)
}

// commonFormat returns the format that the names of all files imply.
func commonFormat(files []file) (string, error) {
	var kinds []string
	for _, file := range files {
		if kind := formatByName(file.name); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	switch len(kinds) {
	case 0:
		return "", errors.New("no file in it has a name that implies a format: choose one with -format")
	case 1:
		return kinds[0], nil
	}
	return "", fmt.Errorf("it has files of several formats: choose one with -format %s", strings.Join(kinds, " or "))
}

// checkFile opens a file, and reads enough to check that the format finds its
// keys. It skips standard input and pipes, which can be read only once.
func checkFile(file file, format format) error {
	if file.info == nil || !file.info.Mode().IsRegular() {
		return nil
	}
	opened, err := file.open()
	if err != nil {
		return fmt.Errorf("-input: %w", err)
	}
	defer opened.Close()
	if !format.hasHeader() {
		return nil
	}
	for first, err := range split(file, opened, format) {
		if err != nil {
			return err
		}
		_, err = format.start(&first)
		return err
	}
	return nil // an empty file has no records, and so lacks no key
}

// keepApart returns an error if the database is a file of the input.
func keepApart(input input, database string) error {
	info, err := os.Stat(database)
	if err != nil {
		return nil // it does not exist yet
	}
	for _, file := range input.files {
		if file.info != nil && os.SameFile(info, file.info) {
			return fmt.Errorf("-db %s: it is also a file of the input", database)
		}
	}
	return nil
}
