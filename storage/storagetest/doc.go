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
// Faults are made below a driver, with the file systems of internal/vfs.
package storagetest
