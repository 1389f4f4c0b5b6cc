package items

// Places number the adds that asked for the runs. A place orders the items of a
// priority.
type Places struct {
	of   Column[place]
	last uint64 // the number of the last place given
}

type place struct {
	number uint64
	late   uint32 // 1 + the index in the heap of late entries, or 0
}

func (t *Table) NeedPlaces() {
	if t.Places == nil {
		t.Places = &Places{}
		t.AddColumn(&t.Places.of)
	}
}

func (p *Places) Renew(id uint32) {
	if p != nil {
		p.last++
		p.of.Extend(id).number = p.last
	}
}

func (t *Table) PlaceOf(id uint32) uint64 {
	if t.Places == nil {
		return 0
	}
	if cell := t.Places.of.Lookup(id); cell != nil {
		return cell.number
	}
	return 0
}

func (p *Places) Number(id uint32) uint64 { return p.of.At(id).number }

// Late is 1 + the index in the heap of late entries, or 0. The level keeps it.
func (p *Places) Late(id uint32) *uint32 { return &p.of.At(id).late }
