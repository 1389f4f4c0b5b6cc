package debugpage

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// readings returns thirty samples, two seconds apart. Its numbers depend on how
// many samples came before. What leaves the queue is what was added and is not
// ready.
func readings(of func(i int) sample) course {
	c := make(course, 30)
	for i := range c {
		c[i] = of(i)
		c[i].time = time.Date(2026, 1, 1, 0, 0, 2*i, 0, time.UTC)
		if c[i].added == 0 && c[i].done > 0 {
			c[i].added = uint64(max(0, c[i].ready+int(c[i].done)))
		}
	}
	return c
}

func up(i int) uint64 { return uint64(i) }

func TestTrend(t *testing.T) {
	second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for name, c := range map[string]struct {
		of   func(i int) sample
		text string
	}{
		"ready now and then":     {func(i int) sample { return sample{ready: i % 2, done: up(i)} }, "steady: 1 ready"},
		"steady":                 {func(i int) sample { return sample{ready: 5000 + i%3, done: up(100 * i), oldest: 2e9} }, "steady: 5,002 ready, oldest 2.0 s"},
		"no consumers":           {func(i int) sample { return sample{ready: 500, done: 7, oldest: second(2 * float64(i))} }, "nothing is done in 58 s"},
		"one item, no consumers": {func(i int) sample { return sample{ready: 1} }, "nothing is done in 58 s"},
		"consumers that stopped": {func(i int) sample { return sample{ready: max(0, i-19), done: up(min(i, 19))} }, "nothing is done in 18 s"},
		"an item that just came": {func(i int) sample { return sample{ready: i / 29, done: 7} }, "steady: 1 ready"},
		"more and more":          {func(i int) sample { return sample{ready: 100 * i, done: up(100 * i)} }, "falling behind: +50/s"},
		"more, and older":        {func(i int) sample { return sample{ready: 764 * i, done: up(120 * i), oldest: second(240 + float64(i))} }, "falling behind: +382/s, oldest 4 m"},
		"slowly more":            {func(i int) sample { return sample{ready: 9 + i, done: 1 + up(i/9), oldest: -1} }, "falling behind: +30/min"},
		"older and older":        {func(i int) sample { return sample{ready: 5000, done: up(i), oldest: second(1.5 * float64(i))} }, "falling behind: oldest 43 s and growing"},
		"a flood that drains":    {func(i int) sample { return sample{ready: 60_000*(i/20) - 100*i*(i/20), done: up(100 * i)} }, "catching up: −50/s, about 19 m left"},
		"a step at the start":    {func(i int) sample { return sample{ready: min(i, 1)*364 + i/9, done: up(90 * i), oldest: 3e9} }, "up and down: 367 ready, oldest 3.0 s"},
		"a peak that is over":    {func(i int) sample { return sample{ready: 20 + 60_000*(i/25)*(25/max(i, 1)), done: up(100 * i)} }, "up and down: 20 ready"},
		"less and less":          {func(i int) sample { return sample{ready: 60_000 - 1000*i, done: up(1000 * i)} }, "catching up: −500/s, about 1 m left"},
		"less, but not recently": {func(i int) sample {
			return sample{ready: max(20_000, 60_000-2000*i), added: 60_000 + up(1000*i), done: up(1000 * i)}
		}, "up and down: 20,000 ready"},
		"less, and a step at last": {func(i int) sample {
			return sample{ready: 60_000 - 2000*i + 48_000*(i/29), added: 60_000 + up(48_000*(i/29)), done: up(2000 * i)}
		}, "up and down: 50,000 ready"},
		"a list in large batches": {func(i int) sample {
			return sample{ready: 60_000, added: 60_000, done: up(100 * (i / 20)), oldest: second(2 * float64(i))}
		}, "steady: 60,000 ready, oldest 58 s"},
		"a paused group, older": {func(i int) sample {
			return sample{ready: 500, done: up(100 * i), oldest: second(2 * float64(i)), throttled: i < 20}
		}, "steady: 500 ready, oldest 58 s"},
	} {
		found := readings(c.of).trend()
		require.NotNil(t, found, name)
		require.Equal(t, c.text, found.Text, name)
	}
	for name, c := range map[string]struct {
		perSample int
		tone      string
	}{"falling behind": {100, warn}, "catching up": {-100, plain}} {
		r := reading{stuck: 1, course: readings(func(i int) sample { return sample{ready: 3000 + c.perSample*i, done: up(100 * i)} })}
		beside := r.verdict().Beside
		require.Equal(t, [2]string{name, c.tone}, [2]string{beside.Name, string(beside.Tone)}, "beside a problem nothing is good")
	}
	require.Nil(t, readings(func(i int) sample { return sample{ready: 29 - i, done: up(i)} }).trend(), "nothing is ready")
	paused := readings(func(i int) sample { return sample{ready: 60_000 - 1000*i, pausedReady: 31_000, done: up(1000 * i)} })
	require.Equal(t, "catching up: −500/s", paused.trend().Text, "what is paused has no time left")
	short := readings(func(i int) sample { return sample{ready: 5000, done: up(100 * i)} })
	require.Nil(t, short[:3].trend(), "too short")
	require.Nil(t, readings(func(i int) sample { return sample{ready: 4000 * i, done: up(100 * i)} })[:2].trend(), "a batch that has just come")
}

// TestTrendOverTime follows queues for long, and checks that each has the same
// trend at all times.
func TestTrendOverTime(t *testing.T) {
	for name, c := range map[string]struct {
		ready, perSecond, adds, chance float64
		minutes                        int
		verdict                        string
		from                           int // the first sample that tells
	}{
		"a list at 40 a second":          {20_000, 40, 0, 0, 7, "catching up", 6},
		"a list at 10 a second":          {20_000, 10, 0, 0, 30, "catching up", 6},
		"a list, and some adds":          {20_000, 40, 10, 0, 7, "catching up", 6},
		"more and more":                  {10_000, 40, 400, 0, 3, "falling behind", 6},
		"slowly more, with chances":      {400, 27, 30, 5, 20, "falling behind", 80},
		"steady":                         {5000, 100, 100, 0, 10, "steady", 6},
		"steady, with chances":           {5000, 100, 100, 10, 10, "steady", 6},
		"steady and slow, with chances":  {5000, 2, 2, 2, 10, "steady", 6},
		"a large list, and as many adds": {1_000_000, 1000, 1000, 30, 10, "steady", 6},
	} {
		random, ready, added, done := rand.New(rand.NewPCG(1, 2)), c.ready, c.ready, 0.0
		all := samples{of: map[string]course{}}
		for i := range 30 * c.minutes {
			now := sample{time: time.Unix(int64(2*i), 0), ready: int(ready), added: uint64(added), done: uint64(done), oldest: 12e9}
			r := reading{stats: shardq.Stats{Ready: now.ready, Workers: 1, Parked: 1}}
			r.course, r.long = all.since("q", now, trendWindow), all.since("q long", now, 5*trendWindow)
			if i >= c.from {
				require.Equal(t, c.verdict, r.verdict().Name, "%s, at %d", name, i)
			}
			adds := 2 * (c.adds + 2*c.chance*(random.Float64()-0.5))
			ready, added, done = ready+adds-2*c.perSecond, added+adds, done+2*c.perSecond
		}
	}
}

// TestSamples checks that samples are thinned out and end with the window, and
// that another queue of the name, and a slow request, have no trend of others.
func TestSamples(t *testing.T) {
	all := samples{of: map[string]course{}}
	at := func(seconds float64, added uint64) int {
		when := time.Unix(0, int64(seconds*1e9))
		return len(all.since("q", sample{time: when, added: added}, trendWindow))
	}
	for i := range 100 {
		require.LessOrEqual(t, at(float64(i)/2, 100), 2+i/4, "one is kept for two seconds")
	}
	require.Equal(t, 26, at(52, 100))
	require.Equal(t, 26, at(51, 100), "it was slow")
	require.Equal(t, 1, at(51, 90), "slow, and of another queue")
	require.Equal(t, 22, at(70, 100), "the first ten seconds are over")
	require.Equal(t, 1, at(71, 99), "another queue")
	require.Equal(t, 2, at(72, 99))
	require.Equal(t, 1, at(140, 99), "all are over")
	require.Empty(t, all.fresh(nil, trendWindow))
	require.Empty(t, all.of, "and forgotten")
}

func TestSampleOfAttempts(t *testing.T) {
	m := &stats.Metrics{}
	for result, h := range m.Attempts.All() {
		h.Count = 1 << result
	}
	one := newSample(&shardq.Stats{Metrics: m}, false)
	require.Equal(t, one.attempts-1<<stats.Succeeded-1<<stats.Requeued, one.failed)
}

// TestFirstLook checks that the first answer knows that a queue falls behind,
// as text, too, and in the overview.
func TestFirstLook(t *testing.T) {
	defer func(before time.Duration) { firstLook = before }(firstLook)
	firstLook = 250 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		queue := shardq.MustNew(shardq.Options[int]{Name: "webhooks", Shards: 1, Metrics: true})
		for i := range 100_000 {
			queue.Add(i)
		}
		time.Sleep(245 * time.Second)
		over := make(chan struct{})
		defer close(over)
		go func() {
			for next := 100_000; ; next++ {
				select {
				case <-over:
					return
				case <-time.After(time.Second / 442):
					queue.Add(next)
				}
				if next%7 == 0 {
					item, _ := queue.Get()
					queue.Done(item)
				}
			}
		}()
		time.Sleep(2 * time.Second)
		for _, h := range []http.Handler{Handler(queue), Handler(queue, newQueue("other"))} {
			require.Regexp(t, `falling behind: \+3[78]\d/s, oldest 4 m`, get(t, h, "?format=text"))
		}
		h := Handler(queue)
		require.Regexp(t, `falling behind: &#43;3[78]\d/s, oldest 4 m`, get(t, h, ""))
		start := time.Now()
		require.InDelta(t, 442, getQueue(t, h, "").Gauges["addedPerSecond"], 20)
		require.Zero(t, time.Since(start), "only the first look takes time")
	})
}

// TestLoopOfOnesOwn: where no worker reports attempts, AddRateLimited is a
// failure, and each Done an attempt.
func TestLoopOfOnesOwn(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Metrics: true})
	most := newSample(&shardq.Stats{Done: 3, Metrics: &stats.Metrics{Backoffs: 9}}, false)
	require.EqualValues(t, 3, most.failed, "items that were not handed out got backoffs, too")
	look := func() sample { s := q.Stats(); return newSample(&s, false) }
	before := look()
	for range 10 {
		q.Add("a")
		item, _ := q.Get()
		q.AddRateLimited(item)
		q.Done(item)
		q.Add("b")
		item, _ = q.Get()
		q.Forget(item)
		q.Done(item)
	}
	require.Equal(t, 0.5, course{before, look()}.failing())
	q.Add("c")
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(context.Context, string) error { return nil }))
	require.Zero(t, course{before, look()}.failing(), "workers count now")
}

// TestHealthOverTime follows queues whose attempts fail by chance, and checks
// that their health changes only where what they do changes, and not at once.
func TestHealthOverTime(t *testing.T) {
	type part struct {
		seconds, perReading int
		share               float64 // of the attempts that fail
	}
	for name, c := range map[string]struct {
		parts []part
		want  []health
	}{
		"80 % fail":              {[]part{{1800, 400, 0.8}}, []health{failsOften}},
		"80 % fail, slowly":      {[]part{{7200, 1, 0.8}}, []health{failsOften}},
		"few fail":               {[]part{{1800, 400, 0.1}}, []health{sound}},
		"down, and up again":     {[]part{{120, 400, 0.02}, {60, 400, 1}, {300, 400, 0.02}}, []health{sound, isDown, failsOften, sound}},
		"down from 80 %":         {[]part{{120, 100, 0.8}, {120, 100, 1}}, []health{failsOften, isDown}},
		"down, and few attempts": {[]part{{600, 1, 0.02}, {300, 1, 1}}, []health{sound, isDown}},
		"a blip":                 {[]part{{120, 10, 0}, {4, 10, 1}, {120, 10, 0}}, []health{sound}},
	} {
		for _, metrics := range []bool{true, false} {
			random, all, now, seen := rand.New(rand.NewPCG(1, 2)), samples{of: map[string]course{}}, sample{}, []health(nil)
			for _, p := range c.parts {
				for range p.seconds / 2 {
					for range p.perReading {
						now.attempts++
						if now.run++; random.Float64() >= p.share {
							now.run = 0
						} else if now.failed++; now.run == outageRun {
							now.outages++
						}
					}
					now.time = now.time.Add(2 * time.Second)
					one := now
					if one.run < outageRun {
						one.run = 0
					}
					if !metrics {
						one.attempts, one.failed = 0, 0
					}
					past := all.since("q", one, trendWindow)
					if now.attempts > uint64(30*c.parts[0].perReading) { // its first readings tell little
						seen = append(seen, past.now().condition.health)
					}
				}
			}
			want := slices.Clone(c.want)
			for i := range want {
				if !metrics && want[i] == failsOften { // there is no share
					want[i] = sound
				}
			}
			if metrics || name != "80 % fail, slowly" { // without metrics, the only run of a window is an outage
				require.Equal(t, slices.Compact(want), slices.Compact(seen), "%s, metrics %v", name, metrics)
			}
		}
	}
	began, start := condition{}.next(isDown, time.Unix(0, 0), time.Minute), time.Unix(0, 0)
	require.Equal(t, isDown, began.next(isDown, start.Add(enterAfter), time.Minute).health, "after exactly that time")
}
