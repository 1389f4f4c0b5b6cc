package harness

import "math/bits"

// dice is the random source of an actor: SplitMix64 (G. Steele et al., OOPSLA
// 2014). It is a source for math/rand/v2, and answers questions that are asked
// several times in each operation.
//
// Methods that only an actor itself uses are marked norace. The race detector
// need not check them, and spent more time on them than on the queue.
type dice struct{ state uint64 }

// Uint64 returns the next number of the sequence.
//
//go:norace
func (d *dice) Uint64() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// roll returns a number from 0 to n-1.
//
//go:norace
func (d *dice) roll(n int) int {
	high, _ := bits.Mul64(d.Uint64(), uint64(n))
	return int(high)
}

// chance returns true once in n times, on average.
//
//go:norace
func (d *dice) chance(n int) bool { return d.roll(n) == 0 }
