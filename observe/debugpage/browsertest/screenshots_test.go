package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/observe/debugpage"
)

var screenshots = flag.String("screenshots", "", "the directory to write the pictures of the documents to")

// TestScreenshots makes the pictures of the documents, from a minute of a
// queue.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots does not say where to")
	}
	b := newTab(t)
	address := serve(t, debugpage.Options{
		Queues: []shardq.Inspector{invoices(t)}, Title: "Billing", MaxRows: 6, PollEvery: time.Second,
	})
	b.run(chromedp.EmulateViewport(1280, 1400))
	b.open(address + "?shards=adds")
	time.Sleep(75 * time.Second) // the pictures show this time: there is no event to wait for
	bottom := evaluate[float64](b, `document.querySelector("[aria-labelledby=durations]").getBoundingClientRect().bottom`)
	b.picture("debugpage-light.png", 1280, int64(bottom)+16, "light")
	b.picture("debugpage-dark.png", 1280, int64(bottom)+16, "dark")
	b.picture("debugpage-phone.png", 390, 844, "light", chromedp.EmulateMobile, chromedp.EmulateScale(2))
}

// picture writes a picture of the tab to a file.
func (b *tab) picture(name string, width, height int64, scheme string, options ...chromedp.EmulateViewportOption) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	b.run(chromedp.EmulateViewport(width, height, options...))
	b.waitForFrames(3)
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.Less(b.t, len(picture), 300_000)
	require.NoError(b.t, os.WriteFile(filepath.Join(*screenshots, name), picture, 0o644))
}

// An invoice is of a tenant.
type invoice struct{ tenant, number string }

func (i invoice) String() string { return i.tenant + "/" + i.number }

// invoices returns a busy queue: twelve workers, one of them stuck for minutes;
// a tenant that adds far more than all others; some invoices that always fail;
// and some that are delayed. It runs until the test ends.
func invoices(t *testing.T) *shardq.Queue[invoice] {
	shifted := &shiftedClock{Clock: clock.Real()}
	queue := shardq.MustNew(shardq.Options[invoice]{
		Name: "invoices", Shards: 32, Clock: shifted, Metrics: true, Capacity: 50_000,
		Group:       func(i invoice) string { return i.tenant },
		GroupPolicy: func(group string) shardq.GroupPolicy { return shardq.GroupPolicy{Weight: 1 + len(group)%2, Limit: 6} },
		StuckAfter:  30 * time.Second,
	})
	ctx, stop := context.WithCancel(context.Background())
	var everybody sync.WaitGroup
	t.Cleanup(func() {
		stop()
		queue.ShutDown()
		everybody.Wait()
	})
	workBefore(queue, shifted)
	everybody.Go(func() { _ = queue.Run(ctx, 12, work) })
	queue.Add(stuck)
	for queue.Stats().Processing == 0 {
		time.Sleep(time.Millisecond)
	}
	shifted.shift.Add(int64(4*time.Minute + 12*time.Second))
	for i := range 60 {
		queue.AddAfter(invoice{tenants[i%len(tenants)], fmt.Sprintf("2026-%04d", 5000+i)}, time.Duration(i*i)*700*time.Millisecond+3*time.Minute)
	}
	everybody.Go(func() { addInvoices(ctx, queue) })
	return queue
}

var (
	tenants = []string{
		"acme", "initech", "hooli", "umbrella", "soylent", "stark", "wayne", "tyrell", "cyberdyne", "wonka",
		"gringotts", "duff", "oscorp", "aperture", "monarch", "vandelay", "pied-piper", "dunder", "sirius", "zorg",
		"weyland", "nakatomi", "oceanic", "los-pollos", "bluth", "sterling", "gekko", "prestige", "massive", "virtucon",
	}
	stuck = invoice{"umbrella", "2026-0017"}
)

const flooding = "globex"

// A shiftedClock is ahead of another clock, so that the test need not wait for
// minutes.
type shiftedClock struct {
	clock.Clock
	shift atomic.Int64
}

func (c *shiftedClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.shift.Load())) }

// workBefore completes a few thousand invoices quickly, before the first
// reading.
func workBefore(queue *shardq.Queue[invoice], clock *shiftedClock) {
	random := rand.New(rand.NewPCG(3, 4))
	pass := func(mean float64) {
		clock.shift.Add(int64(time.Duration(1+mean*random.ExpFloat64()) * time.Millisecond))
	}
	for n := range 4000 {
		queue.Add(invoice{tenants[n%len(tenants)], fmt.Sprintf("2025-%04d", n)})
		pass(4)
		i, _ := queue.Get()
		pass(25)
		queue.Done(i)
	}
}

func addInvoices(ctx context.Context, queue *shardq.Queue[invoice]) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(20 * time.Millisecond)
		tenant := tenants[min(random.IntN(len(tenants)), random.IntN(len(tenants)))]
		for range random.IntN(4) {
			queue.Add(invoice{tenant, fmt.Sprintf("2026-%04d", random.IntN(5000))})
		}
		if n%50 < 25 {
			for range 4 {
				queue.Add(invoice{flooding, fmt.Sprintf("2026-%05d", random.IntN(90_000))})
			}
		}
	}
}

// work takes some milliseconds, and fails now and then.
func work(ctx context.Context, i invoice) error {
	if i == stuck {
		<-ctx.Done()
		return nil
	}
	time.Sleep(time.Duration(10+60*rand.ExpFloat64()) * time.Millisecond)
	switch last := i.number[len(i.number)-2:]; {
	case last == "13":
		return errors.New("card declined: insufficient funds")
	case last == "77":
		return errors.New("bank.example: 503 Service Unavailable")
	case rand.IntN(40) == 0:
		return errors.New("bank.example: no answer within 5 s")
	}
	return nil
}
