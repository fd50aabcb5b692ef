package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

func TestRecordOfARun(t *testing.T) {
	dir := t.TempDir()
	x := 1
	cp := open(t, dir, map[string]any{"x": &x})
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	read := func() []byte {
		found, err := filepath.Glob(filepath.Join(dir, "test", "RUN-*.json"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		data, err := vfs.ReadFile(vfs.OS(), found[0], 1<<20)
		require.NoError(t, err)
		return data
	}
	require.Contains(t, string(read()), `"ended": null`, "a run that is killed now leaves this")
	for i := range 3 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
	}
	require.NoError(t, cp.Close())
	require.NotContains(t, string(read()), `"ended": null`)
	records, err := filestore.Records(vfs.OS(), filepath.Join(dir, "test"))
	require.NoError(t, err)
	require.Equal(t, 3, records[0].VersionsWritten)
	require.Equal(t, cp.Stats().CheckpointTime.Seconds(), records[0].Overheads.Checkpoint)

	// The ten newest stay.
	for range 14 {
		store(t, dir, map[string]any{"x": &x})
	}
	records, err = filestore.Records(vfs.OS(), filepath.Join(dir, "test"))
	require.NoError(t, err)
	require.Len(t, records, 10)
	for i := 1; i < len(records); i++ {
		require.False(t, records[i].Started.Before(records[i-1].Started))
	}
}

func TestMessages(t *testing.T) {
	lines := func(t *testing.T, env map[string]string, mode string) string {
		for name, value := range env {
			t.Setenv(name, value)
		}
		var log bytes.Buffer
		x, y := 1, make([]float64, 10)
		cp := open(t, t.TempDir(), map[string]any{"x": &x, "y": &y}, WithLogger(slog.New(slog.NewTextHandler(&log, nil))), WithAsync(AsyncMode(mode)))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		for i := range 3 {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 2))
		}
		require.NoError(t, cp.Close())
		return log.String()
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			require.Empty(t, lines(t, nil, mode))
			t.Setenv("CRAFT_TIMING", "1")
			timing := lines(t, nil, mode)
			for _, phase := range []string{"update=", "copy=", "wait=", "write=", "settle=", "cp_total=", "res_total="} {
				require.Contains(t, timing, phase)
			}
			another := lines(t, map[string]string{"CRAFT_DEBUG_PROC": "1"}, mode)
			require.Equal(t, 1, strings.Count(another, "\n"), "that is no rank: %s", another)
			require.Contains(t, another, "CRAFT_DEBUG_PROC")
		})
	}
	for level, want := range []int{0, 3, 3, 7, 8} {
		t.Run(fmt.Sprint("level ", level), func(t *testing.T) {
			log := lines(t, map[string]string{"CRAFT_DEBUG": fmt.Sprint(level)}, "off")
			require.Equal(t, want, bytes.Count([]byte(log), []byte("\n")), log)
		})
	}
}

// A version that is complete when the checkpoint is closed, without Wait, is in the record.
func TestRecordOfAVersionThatNobodyWaitedFor(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		disk := vfs.NewMem()
		require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
			p := newProgram(t, c, true, WithPath("/cp"), withFS(disk), inMode("copy"))
			if err := p.cp.UpdateAndWrite(ctx, 0, 1); err != nil {
				return err
			}
			<-p.cp.line.flight.Load().ticket.Done()
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			return p.cp.Close()
		}))
		records, err := filestore.Records(disk, "/cp/prog")
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.EqualValues(t, 1, records[0].LastWritten)
	}
}

// A record that is written late takes no place of a newer one.
func TestOlderRecordIsNotWritten(t *testing.T) {
	cp := stageOf(t, nil, "x", []Option{WithPath(t.TempDir()), WithSync(SyncNone)})
	defer cp.Close()
	require.NoError(t, cp.Write(t.Context()))
	older := *cp.up.dueRecord(false)
	newer := *cp.up.dueRecord(false)
	newer.AnewStored = true
	require.True(t, cp.up.writeRecord(t.Context(), newer))
	require.False(t, cp.up.writeRecord(t.Context(), older))
	records, err := cp.home.Records(t.Context())
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.True(t, records[0].AnewStored)
}

// The record is written as a run starts, and tells by then which version it goes on from.
func TestRecordOfTheStart(t *testing.T) {
	disk := vfs.NewMem()
	run := func() *program {
		p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
		require.NoError(t, p.cp.RestartIfNeeded(t.Context(), &p.iter))
		return p
	}
	first := run()
	require.NoError(t, first.cp.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, first.cp.Close())
	second := run()
	defer second.cp.Close()
	records, err := filestore.Records(disk, "/cp/prog")
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.EqualValues(t, 1, records[1].RestoredVersion)
}
