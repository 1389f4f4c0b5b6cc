//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

func freeze(w *exec.Cmd) error { return w.Process.Signal(syscall.SIGSTOP) }
func thaw(w *exec.Cmd) error   { return w.Process.Signal(syscall.SIGCONT) }
