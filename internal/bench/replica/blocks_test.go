package replica

import (
	"encoding/binary"
	"fmt"
)

// fill writes what the blocks from one on are, block bytes each: every word is different.
func fill(out []byte, from int64, block int) {
	word := uint64(from) * uint64(block) / 8
	for i := 0; i+8 <= len(out); i += 8 {
		binary.LittleEndian.PutUint64(out[i:], (word+1)*0x9e3779b97f4a7c15)
		word++
	}
}

// check reports what is not as fill has made it.
func check(got []byte, from int64, block int) error {
	word := uint64(from) * uint64(block) / 8
	for i := 0; i+8 <= len(got); i += 8 {
		if binary.LittleEndian.Uint64(got[i:]) != (word+1)*0x9e3779b97f4a7c15 {
			return fmt.Errorf("block %d was not loaded as it was submitted", from+int64(i/block))
		}
		word++
	}
	return nil
}
