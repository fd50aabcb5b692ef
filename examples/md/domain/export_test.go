package domain

// Force is what acts on the atoms.
func (d *Domain) Force() []float64 { return d.force }
