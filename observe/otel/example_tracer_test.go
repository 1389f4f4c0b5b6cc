package shardqotel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/shardq/shardq"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

// Each attempt has a span with links to the requests that it serves.
func ExampleTracer() {
	recorder := tracetest.NewSpanRecorder() // or a batcher with an exporter
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))

	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices"})
	tracer, err := shardqotel.NewTracer(queue, shardqotel.TracerOptions[string]{Provider: provider})
	if err != nil {
		log.Fatal(err)
	}
	adder := tracer.Adder(queue)
	for range 2 { // requests of the program
		ctx, span := provider.Tracer("example").Start(context.Background(), "POST /invoices")
		adder.Add(ctx, "invoice/17")
		span.End()
	}

	workers, stop := context.WithCancel(context.Background())
	failed := false
	err = queue.Run(workers, 1, tracer.Handle(func(ctx context.Context, key string) error {
		if !failed {
			failed = true
			return errors.New("no answer")
		}
		stop()
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	for _, span := range recorder.Ended() {
		fmt.Printf("%s: %d links, status %v\n", span.Name(), len(span.Links()), span.Status().Code)
	}
	// Output:
	// POST /invoices: 0 links, status Unset
	// POST /invoices: 0 links, status Unset
	// process invoices: 2 links, status Error
	// process invoices: 2 links, status Unset
}

// Messages of a cluster carry the contexts of their adds in headers.
func ExampleRemoteLinks() {
	provider := sdktrace.NewTracerProvider()
	propagator := propagation.TraceContext{}
	header := map[string][]string{} // of a message, such as a nats.Header

	ctx, span := provider.Tracer("example").Start(context.Background(), "POST /invoices")
	propagator.Inject(ctx, propagation.HeaderCarrier(header)) // where it is added
	span.End()

	links := shardqotel.RemoteLinks(propagator, header) // where it is handled
	err := shardqotel.Process(context.Background(), shardqotel.Attempt{Provider: provider, Queue: "invoices", Links: links},
		func(ctx context.Context) error { return nil })
	fmt.Println("links:", len(links), err)
	// Output: links: 1 <nil>
}

// The lines that a handler logs with its context name the span of the attempt.
func ExampleNewLogHandler() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // for this example: no times, and short IDs
			switch a.Key {
			case slog.TimeKey:
				return slog.Attr{}
			case "trace_id", "span_id":
				return slog.Int(a.Key+" digits", len(a.Value.String()))
			}
			return a
		},
	})
	logger := slog.New(shardqotel.NewLogHandler(text))
	ctx, span := sdktrace.NewTracerProvider().Tracer("example").Start(context.Background(), "process invoices")
	defer span.End()
	logger.InfoContext(ctx, "sent")
	// Output: level=INFO msg=sent "trace_id digits"=32 "span_id digits"=16
}
