package domain

// Atoms are some atoms, in arrays: a number, and three coordinates and components each.
type Atoms struct {
	ID []int64
	R  []float64 // Å, in the box
	V  []float64 // Å/fs
}

// Len is how many they are.
func (a *Atoms) Len() int { return len(a.ID) }

// Add appends one.
func (a *Atoms) Add(id int64, r, v []float64) {
	a.ID = append(a.ID, id)
	a.R = append(a.R, r[:3]...)
	a.V = append(a.V, v[:3]...)
}

// reset forgets all of them, and keeps the memory.
func (a *Atoms) reset() { a.ID, a.R, a.V = a.ID[:0], a.R[:0], a.V[:0] }

// packed is how many numbers an atom is in a message.
const packed = 7

// pack appends an atom to a message. Numbers of atoms are exact in a float64: there are
// less than 2^53.
func (a *Atoms) pack(message []float64, i int) []float64 {
	message = append(message, float64(a.ID[i]))
	message = append(message, a.R[3*i:3*i+3]...)
	return append(message, a.V[3*i:3*i+3]...)
}

// unpack appends the atoms of a message.
func (a *Atoms) unpack(message []float64) {
	for ; len(message) >= packed; message = message[packed:] {
		a.Add(int64(message[0]), message[1:4], message[4:7])
	}
}
