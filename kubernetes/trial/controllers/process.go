package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A process is a program of Kubernetes, which writes its log into a file.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan error
}

// startProcess starts a program. It is killed when ctx ends.
func startProcess(ctx context.Context, program, log string, arguments ...string) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{command: exec.CommandContext(ctx, program, arguments...), log: log, ended: make(chan error, 1)}
	p.command.Stdout, p.command.Stderr = file, file
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.command.Wait() }()
	return p, nil
}

// ready waits until check returns nil.
func (p *process) ready(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-p.ended:
			p.ended <- ended
			return fmt.Errorf("%s ended: %v: see %s", p.command.Path, ended, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: see %s", p.command.Path, err, p.log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// usage is what a process has cost.
type usage struct {
	processor time.Duration
	memory    int64 // its greatest resident size, in bytes
}

// stop sends SIGTERM, and waits until the process has ended.
func (p *process) stop() (u usage) {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case ended := <-p.ended:
		p.ended <- ended
	case <-time.After(time.Minute):
		_ = p.command.Process.Kill()
		p.ended <- <-p.ended
	}
	state := p.command.ProcessState
	u.processor = state.UserTime() + state.SystemTime()
	if s, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.memory = int64(s.Maxrss) << 10
	}
	return u
}

// freePort returns a TCP port that is not in use.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
