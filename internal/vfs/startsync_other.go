//go:build !linux

package vfs

import "os"

func startSync(*os.File, int64, int64) error { return nil }
