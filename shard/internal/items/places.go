package items

import "github.com/shardq/shardq/internal/chunked"

// Places number the adds that asked for the runs. A place orders the items of a
// priority.
type Places struct {
	of   chunked.Array[place]
	last uint64 // the number of the last place given
}

type place struct {
	number uint64
	late   uint32 // 1 + the index in the heap of late entries, or 0
}

func (t *Table) NeedPlaces() {
	if t.Places == nil {
		t.Places = &Places{}
		AddColumn(t, &t.Places.of)
	}
}

func (p *Places) Renew(id uint32) {
	if p != nil {
		p.last++
		chunked.Extend(&p.of, id).number = p.last
	}
}

func (t *Table) PlaceOf(id uint32) uint64 {
	if t.Places == nil {
		return 0
	}
	if cell := chunked.Lookup(&t.Places.of, id); cell != nil {
		return cell.number
	}
	return 0
}

func (p *Places) Number(id uint32) uint64 { return chunked.At(&p.of, id).number }

// Late is 1 + the index in the heap of late entries, or 0. The level keeps it.
func (p *Places) Late(id uint32) *uint32 { return &chunked.At(&p.of, id).late }
