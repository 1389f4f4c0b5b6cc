package traces

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// hasEnded is the outcome of ending a claim that has ended before.
const hasEnded = "has ended"

// whyNotEnded describes the error of ending a claim.
func whyNotEnded(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, worker.ErrClaimEnded):
		return hasEnded
	case errors.Is(err, shardq.ErrShutDown):
		return shutDown
	}
	return err.Error()
}

// A claim is the right to end a processing.
type claim = worker.Claim[string]

// claim lets a worker claim items, and keeps the claims by their names.
func (p *player) claim(c *command) string {
	if c.manner == "at once" {
		return p.tryClaim(c)
	}
	manner := c.manner
	if manner != "with ended context" {
		manner = "with context"
	}
	return p.seek(c.count, newConsumer(c.worker, manner), func(w *consumer) {
		p.start(w, func() arrival {
			claims := make([]claim, c.count)
			n, err := 1, error(nil)
			if c.manner == "batch" {
				n, err = p.queue.ClaimBatch(w.context, claims)
			} else {
				claims[0], err = p.queue.Claim(w.context)
			}
			if err != nil {
				return arrival{worker: w, reason: reasonOf(claims[0].Item, err)}
			}
			return arrival{worker: w, items: p.nameClaims(c, claims[:n]...)}
		})
	})
}

func (p *player) tryClaim(c *command) string {
	if p.refuseIfOpen(1); p.fault != nil {
		return ""
	}
	one, ok := p.queue.TryClaim()
	if !ok {
		return "none is ready"
	}
	return list(p.nameClaims(c, one))
}

// nameClaims keeps claims by the names of the command, and returns their items.
func (p *player) nameClaims(c *command, claims ...claim) (items []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range claims {
		p.claims[c.claims[i]] = one
		items = append(items, nameOf(one.Item))
	}
	return items
}

// claimsOf returns the claims of these names.
func (p *player) claimsOf(names ...string) (claims []claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		one, ok := p.claims[name]
		if !ok {
			p.fault = fmt.Errorf("there is no claim %s", name)
			return nil
		}
		claims = append(claims, one)
	}
	return claims
}

// withClaims calls do with the claims of a command.
func (p *player) withClaims(c *command, do func(claims []claim) string) string {
	claims := p.claimsOf(c.claims...)
	if p.fault != nil {
		return ""
	}
	return do(claims)
}

// endClaims ends a claim, or several with DoneClaims.
func (p *player) endClaims(c *command) string {
	return p.withClaims(c, func(claims []claim) string {
		if c.manner == "batch" {
			return whyNotEnded(p.queue.DoneClaims(claims))
		}
		return whyNotEnded(map[string]func() error{
			"Done": claims[0].Done, "Retry": claims[0].Retry, "Release": claims[0].Release,
			"RequeueAfter": func() error { return claims[0].RequeueAfter(c.duration) },
		}[c.manner]())
	})
}

func (p *player) copyClaim(c *command) string {
	for _, one := range p.claimsOf(c.claims[0]) {
		p.nameClaims(&command{claims: c.claims[1:]}, one)
	}
	return ""
}

func (p *player) valid(c *command) string {
	return p.withClaims(c, func(claims []claim) string {
		var answers []string
		for _, one := range claims {
			answers = append(answers, yesNo(one.Valid()))
		}
		return strings.Join(answers, " ")
	})
}

func (p *player) priority(c *command) string {
	return p.withClaims(c, func(claims []claim) string { return strconv.Itoa(claims[0].Priority) })
}

// fences reports whether each fence is greater than the one before. The numbers
// themselves differ from run to run.
func (p *player) fences(c *command) string {
	return p.withClaims(c, func(claims []claim) string {
		for i := range claims[1:] {
			if claims[i].Fence() >= claims[i+1].Fence() {
				return "do not rise"
			}
		}
		return "rise"
	})
}
