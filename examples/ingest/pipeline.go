package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/shardq/shardq/examples/internal/monitor"
)

// A pipeline is one run of the program.
type pipeline struct {
	config   config
	console  *console
	input    input
	events   *events
	sink     *sink
	progress *progress
	monitor  *monitor.Monitor // nil without -listen
}

// newPipeline opens the input and the database. After an error nothing is left
// open. It creates no database if the input cannot be read.
func newPipeline(config config, stdin io.Reader, console *console) (*pipeline, error) {
	input, err := openInput(config, stdin)
	if err != nil {
		return nil, err
	}
	if err := keepApart(input, config.database); err != nil {
		return nil, err
	}
	events, err := newEvents(config)
	if err != nil {
		return nil, err
	}
	watching, err := watch(config, events)
	if err != nil {
		return nil, err
	}
	sink, err := openSink(config.database, input.name)
	if err != nil {
		watching.Close()
		return nil, err
	}
	progress := &progress{start: time.Now(), size: input.size, pending: events.Len}
	return &pipeline{config, console, input, events, sink, progress, watching}, nil
}

// watch starts the monitor, if there is an address.
func watch(config config, events *events) (*monitor.Monitor, error) {
	if config.listen == "" {
		return nil, nil
	}
	m, err := monitor.Start(config.listen, "ingest", events.Queue())
	if err != nil {
		return nil, fmt.Errorf("-listen: %w", err)
	}
	return m, nil
}

// run reads until the end of the input or of ctx, which stop ends. It writes
// the events, proves the result, and reports to stdout. It returns the exit
// code.
func (p *pipeline) run(ctx context.Context, stop context.CancelCauseFunc, stdout io.Writer) int {
	defer p.monitor.Close()
	p.announce()
	complaints := &complaints{console: p.console}
	if p.config.strict {
		complaints.strict = stop
	}
	if p.config.duration > 0 {
		defer time.AfterFunc(p.config.duration, func() { stop(errDuration) }).Stop()
	}
	report := p.work(ctx, complaints)
	report.proof, report.failure = p.prove(report.read, report.written.lost)
	return report.conclude(p.console, stdout)
}

// announce describes the run.
func (p *pipeline) announce() {
	p.console.notice("reading %s as %s", p.input.describe(), p.input.kind)
	if p.monitor != nil {
		p.console.notice("live page at %s and metrics at %smetrics", p.monitor.URL(), p.monitor.URL())
	}
	if p.sink.temporary {
		p.console.notice("writing to %s, which is removed at the end; keep one with -db", p.sink.path)
	} else {
		p.console.notice("writing to %s, run %d", p.sink.path, p.sink.run)
	}
}

// work reads and writes concurrently.
func (p *pipeline) work(ctx context.Context, complaints *complaints) report {
	defer p.console.show(p.progress)()
	report := report{pipeline: p}
	writing := newWriting(p)
	if report.failure = writing.start(); report.failure != nil {
		return report
	}
	reading := &reading{pipeline: p, complaints: complaints}
	report.read = reading.run(ctx)
	report.stopped = context.Cause(ctx) // a later signal changes nothing
	report.malformed, report.broken = complaints.counts()
	p.progress.startDrain()
	report.written = writing.finish(ctx)
	report.elapsed = time.Since(p.progress.start)
	return report
}

// prove closes the database and compares it with the events that were read.
func (p *pipeline) prove(read, lost tally) (proof, error) {
	if err := p.sink.finish(read.events); err != nil {
		return proof{}, err
	}
	return prove(p.sink.path, p.sink.run, read, lost)
}
