package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// A process is a manager in a process of its own. So its processor time and its
// memory are not those of the API server.
type process struct {
	command *exec.Cmd
	out     bytes.Buffer
}

func startProcess(o managerOptions) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(self, "-manager", o.address, "-queues", o.queue,
		"-round", strconv.FormatInt(o.round, 10), "-workers", strconv.Itoa(o.workers), "-down", o.down.String(),
		"-work", o.work.String())}
	p.command.Stdout, p.command.Stderr = &p.out, os.Stderr
	return p, p.command.Start()
}

// stop sends SIGTERM, and returns the report that the manager makes then, and
// its processor time.
func (p *process) stop() (r report, processor time.Duration, err error) {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return r, 0, err
	}
	if err := p.command.Wait(); err != nil {
		return r, 0, fmt.Errorf("the manager: %w", err)
	}
	state := p.command.ProcessState
	return r, state.UserTime() + state.SystemTime(), json.Unmarshal(p.out.Bytes(), &r)
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}
