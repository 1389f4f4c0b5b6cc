package main

import "fmt"

// A part is every n-th mutant, from the k-th on. The zero part is all mutants.
type part struct{ first, every int }

// Set reads a part such as 3/30.
func (p *part) Set(text string) error {
	var rest string
	n, _ := fmt.Sscanf(text+" .", "%d/%d %s", &p.first, &p.every, &rest)
	if n != 3 || rest != "." || p.first < 1 || p.first > p.every {
		return fmt.Errorf("want K/N, with K from 1 to N")
	}
	return nil
}

func (p *part) String() string { return fmt.Sprintf("%d/%d", p.first, p.every) }

func (p part) of(all []mutant) (mutants []mutant) {
	if p.every == 0 {
		return all
	}
	for i := p.first - 1; i < len(all); i += p.every {
		mutants = append(mutants, all[i])
	}
	return mutants
}
