//go:build linux

package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// TestTableI is the paper's Table I: which versions are read after a failure at
// the five stages of Fig. 3, with the loops of Listing 7 (2 outer iterations
// with frequency 1, 30 inner ones with frequency 10, counted from 1). A process
// kills itself with SIGKILL at the stage; another one restarts and must end with
// the undisturbed result.
//
// In the variants "in flight" the write of the outer version that was captured
// last has come to the last operation before its publication, or just behind it,
// when the process dies.
func TestTableI(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of processes")
	}
	type stage struct {
		name         string
		outer, inner int // where it dies
	}
	stages := []stage{{"I", 1, 5}, {"II", 1, 15}, {"III", 1, 25}, {"IV", 2, 5}, {"V", 2, 15}}
	for _, variant := range []struct {
		name string
		at   table
		want map[string]string // outer version / inner version, as in the table
	}{
		{"as in the paper", table{}, map[string]string{"I": "-/-", "II": "-/10", "III": "-/20", "IV": "1/-", "V": "1/10"}},
		// Before the first iteration an outer version 0 is captured; until it is
		// published, everything that belongs to it is useless.
		{"version 0 in flight", table{First: true, Hold: 1}, map[string]string{"I": "-/-", "II": "-/-", "III": "-/-"}},
		{"version 0 just published", table{First: true, Hold: 1, Published: true}, map[string]string{"I": "0/-", "II": "0/10", "III": "0/20"}},
		{"version 1 in flight", table{Hold: 1}, map[string]string{"IV": "-/30", "V": "-/30"}},
		{"version 1 just published", table{Hold: 1, Published: true}, map[string]string{"IV": "1/-", "V": "1/10"}},
		{"version 1 in flight after version 0", table{First: true, Hold: 2}, map[string]string{"IV": "0/30", "V": "0/30"}},
		{"version 1 just published after version 0", table{First: true, Hold: 2, Published: true}, map[string]string{"IV": "1/-", "V": "1/10"}},
	} {
		for _, mode := range modes {
			for _, s := range stages {
				want, ok := variant.want[s.name]
				if !ok || mode == "off" && variant.at.Hold > 0 && !diesInTheCall(variant.at, s.outer, s.inner) {
					continue // a synchronous write is not in flight while the program is elsewhere
				}
				t.Run(fmt.Sprintf("%s, %s, stage %s", variant.name, mode, s.name), func(t *testing.T) {
					at := variant.at
					at.Dir, at.Mode, at.Outer, at.Inner = t.TempDir(), mode, s.outer, s.inner
					_, killed := runTable(t, at)
					require.True(t, killed)
					got, killed := runTable(t, table{Dir: at.Dir, Mode: mode})
					require.False(t, killed)
					require.Equal(t, want, got.From)
					require.Equal(t, tableResult(), got.Sum)
				})
			}
		}
	}
}

// diesInTheCall: a synchronous write that is held dies there, on the first
// stage behind it.
func diesInTheCall(at table, outer, inner int) bool {
	return inner == 5 && (at.First && at.Hold == 1) == (outer == 1)
}

// table says what a process of the test does.
type table struct {
	Dir, Mode    string
	Outer, Inner int  // where it kills itself; 0: nowhere
	First        bool // an outer version 0 before the first iteration
	// Hold is which write of an outer version is stopped, 0: none: before the
	// part gets its name, or just after.
	Hold      int
	Published bool
}

type tableAnswer struct {
	From string
	Sum  int
}

const (
	outerIterations, innerIterations, innerFrequency = 2, 30, 10

	tableScenario = "table"
)

func tableResult() int {
	sum := 0
	for i := 1; i <= outerIterations; i++ {
		inner := 0
		for j := 1; j <= innerIterations; j++ {
			inner = inner*3%1000003 + i*j
		}
		sum = sum*7 + inner
	}
	return sum
}

func runTable(t *testing.T, at table) (answer tableAnswer, killed bool) {
	t.Helper()
	spec, err := json.Marshal(at)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], string(spec))
	cmd.Env = append(os.Environ(), childVariable+"="+tableScenario)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return answer, true
	}
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(out, &answer))
	return answer, false
}

// tableProcess is the program of Listing 7.
func tableProcess(spec string) error {
	var at table
	if err := json.Unmarshal([]byte(spec), &at); err != nil {
		return err
	}
	ctx := context.Background()
	disk := at.disk()
	sum, inner := 0, 0
	options := []Option{WithPath(at.Dir), withFS(disk), inMode(at.Mode)}
	cl1, err := New("CL1", nil, append(options, DisableSCR())...)
	if err != nil {
		return err
	}
	defer cl1.Close()
	cl2, err := New("CL2", nil, options...)
	if err != nil {
		return err
	}
	defer cl2.Close()
	if err := errors.Join(cl1.Add("sum", &sum), cl1.Commit(), cl2.Add("inner", &inner), cl2.Commit(), cl1.SubCP(cl2)); err != nil {
		return err
	}
	i, from := 1, [2]string{"-", "-"}
	if err := cl1.RestartIfNeeded(ctx, &i); err != nil {
		return err
	}
	if cl1.Stats().Restored {
		from[0] = strconv.Itoa(i - 1)
	} else if at.First {
		if err := cl1.UpdateAndWrite(ctx, 0, 1); err != nil {
			return err
		}
	}
	for ; i <= outerIterations; i++ {
		j := 1
		if err := cl2.RestartIfNeeded(ctx, &j); err != nil {
			return err
		}
		if j > 1 {
			from[1] = strconv.Itoa(j - 1)
		}
		for ; j <= innerIterations; j++ {
			if err := cl2.Wait(ctx); err != nil { // for zero-copy
				return err
			}
			inner = inner*3%1000003 + i*j
			if i == at.Outer && j == at.Inner {
				return at.die(ctx, disk, cl1, cl2)
			}
			if err := cl2.UpdateAndWrite(ctx, j, innerFrequency); err != nil {
				return err
			}
		}
		if err := errors.Join(cl1.Wait(ctx), cl2.Wait(ctx)); err != nil { // for zero-copy
			return err
		}
		sum, inner = sum*7+inner, 0
		if err := cl1.UpdateAndWrite(ctx, i, 1); err != nil {
			return err
		}
	}
	if err := cl1.Wait(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(tableAnswer{From: strings.Join(from[:], "/"), Sum: sum})
}

// disk is the file system of the process, with the operation that is held.
func (at *table) disk() *heldDisk {
	d := &heldDisk{reached: make(chan struct{})}
	writes := 0
	d.FS = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if at.Hold == 0 || !strings.Contains(op.Path, "/CL1/v-") {
			return nil
		}
		if op.Kind == vfs.OpRename && strings.HasSuffix(op.NewPath, ".craft") {
			if writes++; writes == at.Hold && !at.Published {
				at.hold(d)
			}
		}
		if writes == at.Hold && at.Published && op.Kind == vfs.OpSyncDir {
			at.hold(d)
		}
		return nil
	})
	return d
}

type heldDisk struct {
	vfs.FS
	reached chan struct{}
}

// hold stops the writer for ever. Who writes synchronously dies at once.
func (at *table) hold(d *heldDisk) {
	close(d.reached)
	if at.Mode == "off" {
		kill()
	}
	select {}
}

// die waits until everything is stored, or comes to where it is held.
func (at *table) die(ctx context.Context, d *heldDisk, cl1, cl2 *Checkpoint) error {
	if err := cl2.Wait(ctx); err != nil {
		return err
	}
	if at.Hold > 0 {
		<-d.reached
	} else if err := cl1.Wait(ctx); err != nil {
		return err
	}
	kill()
	return nil
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
