package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
)

var screenshots = flag.String("screenshots", "", "the directory to write the pictures of the documents to")

// TestScreenshots makes the pictures of the documents, from a minute of a
// queue:
//
//	go test ./browser -run TestScreenshots -screenshots ../../../docs/reference/images
//
// A palette of 256 colors, as by pngquant, makes them a third as large.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots does not say where to")
	}
	b := newTab(t)
	address := serve(t, debugpage.Options{
		Queues: []shardq.Inspector{invoices(t)}, Title: "Billing", MaxRows: 6, PollEvery: time.Second,
	})
	b.run(chromedp.EmulateViewport(1280, 1400))
	b.open(address)
	time.Sleep(75 * time.Second) // the pictures show this time: there is no event to wait for
	bottom := evaluate[float64](b, `document.querySelector(".more").getBoundingClientRect().bottom`)
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
	require.NoError(b.t, os.WriteFile(filepath.Join(*screenshots, name), picture, 0o644))
}

// tenants are names, of which the first floods.
var tenants = []string{"globex", "acme", "initech", "hooli", "umbrella", "soylent", "stark", "wayne", "tyrell", "cyberdyne"}

// invoices returns a busy queue: twelve workers, one of them stuck; a tenant
// that adds far more than all others; some invoices that fail; and some that
// are delayed. It runs until the test ends.
func invoices(t *testing.T) *shardq.Queue[string] {
	queue := shardq.MustNew(shardq.Options[string]{
		Name: "invoices", Shards: 32, Metrics: true, Capacity: 50_000, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: 6} }, StuckAfter: 30 * time.Second,
		Group: func(invoice string) string { return invoice[:len(invoice)-len("/2026-00000")] },
	})
	ctx, stop := context.WithCancel(context.Background())
	var everybody sync.WaitGroup
	t.Cleanup(func() {
		stop()
		queue.ShutDown()
		everybody.Wait()
	})
	const stuck = "umbrella/2026-00017"
	queue.Add(stuck)
	everybody.Go(func() {
		_ = queue.Run(ctx, 12, func(ctx context.Context, invoice string) error {
			if invoice == stuck {
				<-ctx.Done()
				return nil
			}
			time.Sleep(time.Duration(10+60*rand.ExpFloat64()) * time.Millisecond)
			switch last := invoice[len(invoice)-2:]; {
			case last == "13":
				return errors.New("card declined: insufficient funds")
			case last == "77" || rand.IntN(40) == 0:
				return errors.New("bank.example: 503 Service Unavailable")
			}
			return nil
		})
	})
	for i := range 60 {
		queue.AddAfter(fmt.Sprintf("%s/2026-%05d", tenants[i%len(tenants)], 5000+i), time.Duration(i*i)*700*time.Millisecond+3*time.Minute)
	}
	everybody.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			time.Sleep(20 * time.Millisecond)
			for range 4 {
				queue.Add(fmt.Sprintf("%s/2026-%05d", tenants[rand.IntN(len(tenants))*(n%2)], rand.IntN(90_000)))
			}
		}
	})
	return queue
}
