package commtest

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	patience = 10 * time.Second // the machine may be busy
	os.Exit(m.Run())
}
