package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// queueNames are the queues that a trial can compare.
var queueNames = []string{"client-go", "shardq"}

// binaries returns the directory of the programs that are built with a queue.
func binaries(dir, queue string) string { return filepath.Join(dir, "bin", queue) }

const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// build builds the programs into dir. The go command skips those that are up to
// date.
func build(ctx context.Context, dir string, queues []string, log func(string, ...any)) error {
	log("building %s and %s", apiServer, controllerManager)
	if err := goBuild(ctx, dir, "client-go", nil, apiServer, controllerManager); err != nil {
		return err
	}
	if !slices.Contains(queues, "shardq") {
		return nil
	}
	log("building %s with shardq", controllerManager)
	flags, err := replaceQueues(ctx, dir)
	if err != nil {
		return err
	}
	return goBuild(ctx, dir, "shardq", flags, controllerManager)
}

func goBuild(ctx context.Context, dir, queue string, flags []string, names ...string) error {
	version, err := goOutput(ctx, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	to := binaries(dir, queue)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	arguments := append([]string{
		"build", "-ldflags", "-X k8s.io/component-base/version.gitVersion=" + version, "-o", to + "/",
	}, flags...)
	for _, name := range names {
		arguments = append(arguments, "k8s.io/kubernetes/cmd/"+name)
	}
	_, err = goOutput(ctx, arguments...)
	return err
}

// clientGo is the module whose package util/workqueue is replaced.
const clientGo = "k8s.io/client-go"

// replaceQueues copies client-go, and replaces its queues in the copy by the
// files with which kubernetes/conformance runs client-go's tests over shardq.
// The rest of the package stays, such as the limiters and the metrics. It
// returns the flags of the go command that build with the copy.
func replaceQueues(ctx context.Context, dir string) (flags []string, err error) {
	from, err := goOutput(ctx, "list", "-m", "-f", "{{.Dir}}", clientGo)
	if err != nil {
		return nil, err
	}
	module, err := goOutput(ctx, "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	kubernetes, err := filepath.Abs(filepath.Join(filepath.Dir(module), "..", ".."))
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	replaced := filepath.Join(dir, "client-go")
	if err := errors.Join(os.RemoveAll(replaced), os.CopyFS(replaced, os.DirFS(from))); err != nil {
		return nil, err
	}
	shims, err := filepath.Glob(filepath.Join(kubernetes, "conformance", "testdata", "workqueue", "*.go"))
	if err != nil {
		return nil, err
	}
	if len(shims) == 0 {
		return nil, fmt.Errorf("%s has no files in the place of client-go's", kubernetes)
	}
	for _, shim := range shims {
		if err := copyFile(shim, filepath.Join(replaced, "util", "workqueue", filepath.Base(shim))); err != nil {
			return nil, err
		}
	}
	modfile := filepath.Join(dir, "go.mod")
	if err := errors.Join(copyFile(module, modfile), copyFile(sumOf(module), sumOf(modfile))); err != nil {
		return nil, err
	}
	if _, err := goOutput(ctx, "mod", "edit", "-replace", clientGo+"="+replaced, modfile); err != nil {
		return nil, err
	}
	// The module kubernetes requires newer modules than this Kubernetes does.
	// Without its go.mod, its package queue is one of the root module, so that
	// both binaries have the same dependencies.
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(kubernetes, "go.mod"): ""},
	})
	if err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "overlay.json")
	return []string{"-modfile", modfile, "-overlay", to}, os.WriteFile(to, overlay, 0o644)
}

func sumOf(modfile string) string { return strings.TrimSuffix(modfile, ".mod") + ".sum" }

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// goOutput runs the go command, and returns what it prints.
func goOutput(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
