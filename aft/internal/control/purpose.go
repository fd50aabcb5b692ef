package control

import "fmt"

// purpose is the report of a job whose ranks have all ended with one code that says what is to become of it, or "".
func (b *outbox) purpose(ranks []*process) string {
	ranks = ended(ranks) // those that the others have gone on without have no part in it
	if len(ranks) == 0 {
		return ""
	}
	code := ranks[0].code
	for _, p := range ranks {
		if p.signal != 0 || p.panicked || p.lost || p.silenced || p.code != code {
			return ""
		}
	}
	end := fmt.Sprintf("its ranks have all ended with exit status %d", code)
	switch {
	case code == interruptedCode:
		return "the job was interrupted: " + end
	case code == haltedCode:
		return "the job was halted: " + end + ", and it is not to go on by itself"
	case code != usageCode && b.wanted(code):
		return "the job is to go on later: " + end
	}
	return ""
}
