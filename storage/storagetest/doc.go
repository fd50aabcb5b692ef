// Package storagetest is the suite that every storage.Driver passes. A driver's
// own test is a few lines:
//
//	func TestDriver(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) storagetest.Opener {
//			dir := t.TempDir()
//			return func() storage.Driver { return open(dir) }
//		})
//	}
//
// It also has drivers with faults, for tests of what is above a driver. Each
// wraps another driver and can all that this one can:
//
//	Failing              any operation fails
//	Slow                 any operation waits at a Gate until the test opens it
//	Lost                 the place vanishes with all that it holds
//	Full                 there is no more space
//	Truncating, Flipping what is read is damaged
package storagetest
