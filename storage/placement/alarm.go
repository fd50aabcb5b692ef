package placement

import (
	"slices"
	"sync"
)

// recoverAfter is how many times in a row something must go well until the trouble counts
// as over: where there is hardly any room every few versions find some.
const recoverAfter = 10

// alarm tells of each lasting problem once, and when it is over: what fails may show
// as one problem now and as another one then.
type alarm struct {
	mu   sync.Mutex
	told []string // problems since all was well, the last one at the end
	well int      // how often it has gone well since
}

// raise notes a problem, and reports whether that is news.
func (a *alarm) raise(problem string) (news bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.told)
	a.told = slices.DeleteFunc(a.told, func(t string) bool { return t == problem })
	news = len(a.told) == before
	a.told, a.well = append(a.told, problem), 0
	return news
}

// ease notes that it has gone well, and returns the problem that is over with it;
// "" if none is.
func (a *alarm) ease() (over string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.told) == 0 {
		return ""
	}
	if a.well++; a.well < recoverAfter {
		return ""
	}
	over, a.told = a.told[len(a.told)-1], nil
	return over
}
