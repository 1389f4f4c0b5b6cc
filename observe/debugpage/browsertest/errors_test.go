package browsertest

import (
	"context"
	"errors"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

// unreachable returns a queue with groups and a failure whose cause stands at
// the end of its text. It runs until the test ends.
func unreachable(t *testing.T) *shardq.Queue[invoice] {
	q := shardq.MustNew(shardq.Options[invoice]{
		Name: "invoices", Shards: 32, Metrics: true, Group: func(i invoice) string { return i.tenant }, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 6} },
	})
	ctx, stop := context.WithCancel(t.Context())
	ended, failed := make(chan struct{}), make(chan struct{}, 100)
	go func() {
		defer close(ended)
		_ = q.Run(ctx, 1, func(ctx context.Context, i invoice) error {
			if i.number != "2026-0001" {
				<-ctx.Done()
				return nil
			}
			defer func() { failed <- struct{}{} }()
			return errors.New(i.String() + `: Post "https://bank.example/v1/charges": dial tcp 10.20.30.40:443: connect: connection refused`)
		})
	}()
	t.Cleanup(func() {
		stop()
		q.ShutDown()
		<-ended
	})
	for _, tenant := range tenants[:12] {
		q.Add(invoice{tenant, "2026-0001"})
		<-failed
	}
	for n := range 5000 {
		q.Add(invoice{flooding, "2026-" + string(rune('a'+n%26)) + tenants[n%len(tenants)]})
	}
	return q
}

// TestErrorsAreReadable checks that the whole text of an error is visible
// beside the groups, and that no table there scrolls sideways.
func TestErrorsAreReadable(t *testing.T) {
	b := newTab(t)
	b.run(chromedp.EmulateViewport(1280, 1000))
	b.open(serve(t, debugpage.Options{Queues: []shardq.Inspector{unreachable(t)}}))
	require.Equal(t, []float64{0, 0}, evaluate[[]float64](b, `[...document.querySelectorAll(".beside .scroll")].map(e => e.scrollWidth - e.clientWidth)`))
	const errors = `[...document.querySelectorAll("[data-table='detail.failures'] .error bdi")]`
	require.Equal(t, 8, evaluate[int](b, errors+`.length`))
	require.Empty(t, evaluate[[]string](b, errors+`.filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth).map(e => e.textContent)`))
	require.True(t, evaluate[bool](b, errors+`.every(e => e.textContent.endsWith("connection refused") && e.title === e.textContent)`))
	if *screenshots != "" {
		b.picture("errors.png", 1280, 1000, "light")
	}
	b.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.waitForFrames(2)
	requireAsWideAs(b, 390)
	if *screenshots != "" {
		b.picture("errors-phone.png", 390, 1600, "light", chromedp.EmulateMobile)
	}
	b.requireNoComplaints()
}
