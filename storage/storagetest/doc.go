// Package storagetest is the suite that every storage.Driver passes. A driver's
// own test is a few lines:
//
//	func TestDriver(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) storagetest.Opener {
//			dir := t.TempDir()
//			return func() storage.Driver { return open(dir) }
//		})
//	}
package storagetest
