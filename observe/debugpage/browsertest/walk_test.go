package browsertest

import (
	"flag"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var walk = flag.String("walk", "", "with -screenshots: the `address` of the page of a controller that has just begun, as in docs/guide/observing.md")

// TestWalk makes the pictures of docs/guide/observing.md: of a stuck item, and
// of the flood at half time.
func TestWalk(t *testing.T) {
	if *walk == "" || *screenshots == "" {
		t.Skip("-walk does not say what to picture, or -screenshots not where to")
	}
	b := newTab(t)
	b.run(chromedp.EmulateViewport(1280, 900))
	b.open(*walk + "?rows=6")
	time.Sleep(20 * time.Second) // the pictures show this time: there is no event to wait for
	b.picture("watching-stuck.png", 1280, 560, "light")
	time.Sleep(11 * time.Second)
	b.picture("watching-flood.png", 1280, 1010, "light")
}
