package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoundedBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 96: "96 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 132_710: "130 KiB", 1 << 20: "1.0 MiB", 4_823_450: "4.6 MiB",
		1 << 30: "1.0 GiB", 1 << 40: "1.0 TiB", 1 << 50: "1.0 PiB", math.MaxInt64: "8.0 EiB",
	} {
		require.Equal(t, want, roundedBytes(n))
	}
}

func TestAge(t *testing.T) {
	now := time.Now()
	for ago, want := range map[time.Duration]string{
		0: "0s ago", 59 * time.Second: "59s ago", time.Minute: "1m ago", time.Hour: "1h ago", 47 * time.Hour: "47h ago",
		48 * time.Hour: "2d ago", 9000 * time.Hour: "375d ago", -90 * time.Second: "1m from now", math.MaxInt64: "106751d ago",
	} {
		require.Equal(t, want, age(now.Add(-ago), now))
	}
}
