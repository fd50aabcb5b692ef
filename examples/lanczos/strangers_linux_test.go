package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

// listeners are the ports that somebody listens at on an IPv4 address.
func listeners(address string) (ports []int) {
	ip := net.ParseIP(address).To4()
	prefix := fmt.Sprintf("%02X%02X%02X%02X:", ip[3], ip[2], ip[1], ip[0])
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if port, own := strings.CutPrefix(fields[1], prefix); own && fields[3] == "0A" {
			n, _ := strconv.ParseUint(port, 16, 16) // the system has written it
			ports = append(ports, int(n))
		}
	}
	return ports
}

// TestStrangersConnect: during the job somebody opens connections to the ranks, more
// than they may have files, and says nothing. Nobody fails, and checkpoints are
// written.
func TestStrangersConnect(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent.sh")
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nulimit -n 100; shift; exec \"$@\"\n"), 0o700))
	host := func(i int) string { return fmt.Sprintf("127.99.%d.%d", os.Getpid()%250, i) }
	var stdout, stderr, log testprogram.Output
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var attack sync.WaitGroup
	over := make(chan struct{})
	opened := 0
	attack.Go(func() { opened = openSlowly(host(2), over) })
	_, err := launch.Run(ctx, launch.Config{
		Program: os.Args[0], Args: strings.Fields("-nx 24 -ny 20 -disorder 0.5 -eigs 3 -iters 1500 -cp-freq 100 -json -cp-path " + dir),
		Ranks: 3, Hosts: []launch.Host{{Name: host(1)}, {Name: host(2)}}, Agent: []string{agent},
		Env:    append(testprogram.Environ(), "CRAFT_SYNC=none"),
		Stdout: &stdout, Stderr: &stderr, NoSignals: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	close(over)
	attack.Wait()
	require.NoError(t, err, "%v\n%v", &stderr, &log)
	require.Greater(t, opened, 200)
	require.NotContains(t, stderr.String(), "too many open files")
	require.NotContains(t, log.String(), "has failed")
	require.Contains(t, stdout.String(), `"recoveries":0`)
}

// openSlowly keeps 200 connections to each listener open, and replaces those that are
// dropped.
func openSlowly(address string, over <-chan struct{}) (opened int) {
	open := make(map[int][]net.Conn)
	for {
		select {
		case <-over:
			for _, list := range open {
				for _, c := range list {
					_ = c.Close()
				}
			}
			return opened
		case <-time.After(time.Millisecond):
		}
		ports := listeners(address)
		for i := range 50 * len(ports) {
			port := ports[i/50]
			conn, err := net.DialTimeout("tcp", fmt.Sprint(address, ":", port), time.Second)
			if err != nil {
				continue
			}
			opened++
			if open[port] = append(open[port], conn); len(open[port]) > 200 {
				_ = open[port][0].Close()
				open[port] = open[port][1:]
			}
		}
	}
}
