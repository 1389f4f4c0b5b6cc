package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A console shows messages and progress to the user: a bar on a terminal, and
// lines otherwise. It is safe for concurrent use.
type console struct {
	mu       sync.Mutex
	writer   io.Writer
	terminal bool
	bar      *progressbar.ProgressBar // nil: no bar
	draining bool                     // the bar shows the drain
}

func newConsole(writer io.Writer) *console {
	f, ok := writer.(*os.File)
	return &console{writer: writer, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// notice prints a line, above the bar if there is one.
func (c *console) notice(format string, arguments ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLocked()
	fmt.Fprintf(c.writer, "ingest: %s\n", harmless(fmt.Sprintf(format, arguments...)))
}

// harmless returns a text without control characters for a terminal. Names of
// files, keys and headers come from the input.
func harmless(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == '\n' || r != utf8.RuneError && strconv.IsPrint(r) {
			out.WriteString(text[:size])
		} else {
			quoted := strconv.QuoteToASCII(text[:size])
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return out.String()
}

// unusable reports an error before any work, and returns the exit code.
func (c *console) unusable(err error) int {
	c.notice("%v", err)
	return exitUnusable
}

// The intervals of the progress.
const (
	barInterval  = 100 * time.Millisecond
	lineInterval = time.Second
)

// show shows the progress regularly, until the caller calls the returned
// function.
func (c *console) show(p *progress) (end func()) {
	interval := lineInterval
	if c.terminal {
		interval = barInterval
	}
	ended := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.update(p)
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		showing.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.clearLocked()
		c.bar = nil
	}
}

// update shows the current progress.
func (c *console) update(p *progress) {
	if !c.terminal {
		c.notice("%s", p.line())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	done, total, draining := p.share()
	if c.bar == nil || draining != c.draining {
		c.clearLocked()
		c.bar, c.draining = newBar(c.writer, total), draining
	}
	c.bar.Describe(p.brief())
	if total > 0 {
		done = min(done, total-1) // a complete bar is hidden
	}
	_ = c.bar.Set64(done)
}

func (c *console) clearLocked() {
	if c.bar != nil {
		_ = c.bar.Clear() // fails only if the terminal is gone
	}
}

// newBar returns a bar that ends at total, or one without an end if total is
// not positive.
func newBar(writer io.Writer, total int64) *progressbar.ProgressBar {
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(writer),
		progressbar.OptionSetWidth(16),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // no drawing goroutine
	)
}
