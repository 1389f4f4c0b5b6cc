package main

import "fmt"

// A proof compares the observed state with the desired state.
type proof struct {
	objects int
	refused int    // the number of objects whose desired state the API refused for good
	astray  int    // the number of other objects not in their desired state
	example string // one of those
}

// prove reads everything through a new connection, as another program would.
func prove(path string) (p proof, err error) {
	state, err := openState(path)
	if err != nil {
		return p, err
	}
	defer state.database.Close()
	rows, err := state.database.Query(`
		SELECT coalesce(d.tenant, o.tenant), coalesce(d.name, o.name),
			d.spec IS o.spec AND d.generation IS o.generation, g.reason IS NOT NULL,
			format('is %s, generation %d, and not %s, generation %d', o.spec, o.generation, d.spec, d.generation)
		FROM desired d
		FULL JOIN observed o ON o.tenant = d.tenant AND o.name = d.name
		LEFT JOIN discarded g ON g.tenant = d.tenant AND g.name = d.name AND g.generation = d.generation`)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() {
		var key Key
		var asDesired, refused bool
		var difference string
		if err := rows.Scan(&key.Tenant, &key.Name, &asDesired, &refused, &difference); err != nil {
			return p, err
		}
		p.objects++
		if asDesired {
			continue
		}
		if refused {
			p.refused++
			continue
		}
		p.astray++
		p.example = fmt.Sprintf("%v %s", key, difference)
	}
	return p, rows.Err()
}

// verdict returns nil if all objects that were ever listed are in their desired
// state, or refused.
func (p proof) verdict(listed int) error {
	if p.objects < listed {
		return fmt.Errorf("%d objects were listed, and the database has %d", listed, p.objects)
	}
	if p.astray > 0 {
		return fmt.Errorf("%d of %d objects are not in their desired state, such as: %s", p.astray, p.objects, p.example)
	}
	return nil
}
