package harness

import "math/bits"

// dice is an actor's chance: SplitMix64 (G. Steele et al., OOPSLA 2014), as a source
// for math/rand/v2, and for what is asked several times in each operation.
//
// What actors do for themselves alone is marked norace: that is not what the race
// detector is to look at, and took more of its time than the queue.
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

// chance reports true once in n times.
//
//go:norace
func (d *dice) chance(n int) bool { return d.roll(n) == 0 }
