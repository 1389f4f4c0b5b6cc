package shardqotel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

// BenchmarkTracer measures an add, its attempt and its Done: without a Tracer,
// with one and no span in the context of the add, and with one that is linked.
// The spans of attempts are not sampled, so that the rest is seen.
func BenchmarkTracer(b *testing.B) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	request, span := sdktrace.NewTracerProvider().Tracer("bench").Start(context.Background(), "request")
	defer span.End()
	require.True(b, trace.SpanContextFromContext(request).IsValid())
	handle := func(context.Context, int) error { return nil }
	for _, c := range []struct {
		name   string
		traced bool
		ctx    context.Context
	}{{"none", false, context.Background()}, {"unlinked", true, context.Background()}, {"linked", true, request}} {
		b.Run(c.name, func(b *testing.B) {
			q := shardq.MustNew(shardq.Options[int]{})
			tracer, err := shardqotel.NewTracer(q, shardqotel.TracerOptions[int]{Provider: provider})
			require.NoError(b, err)
			add, handle := func(_ context.Context, item int) { q.Add(item) }, handle
			if c.traced {
				add, handle = tracer.Adder(q).Add, tracer.Handle(handle)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(c.ctx, i%1024)
				item, _ := q.Get()
				_ = handle(context.Background(), item)
				q.Done(item)
			}
		})
	}
}
