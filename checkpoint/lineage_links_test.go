package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link that leads nowhere is an error that names it, and nothing is deleted.
func TestVersionIsALinkThatLeadsNowhere(t *testing.T) {
	for name, link := range map[string]func(version string) string{
		"version": func(version string) string { return version },
		"part":    func(version string) string { return filepath.Join(version, partName(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, 0, 1)
			n.job(t, "", 3, none)
			path := link(glob(t, filepath.Join(n.dir, "pfs", "grid", "v-000003-*"))[0])
			disk := filepath.Join(t.TempDir(), "disk")
			require.NoError(t, os.Rename(path, disk))
			require.NoError(t, os.Symlink(disk, path))
			require.Contains(t, n.job(t, "", 0, none), "version=3 ")
			require.NoError(t, os.Rename(disk, disk+"-not-mounted"))
			for _, levels := range []string{"", "local"} {
				_, err := n.try(t, levels, 5, none)
				require.ErrorContains(t, err, path)
				_, err = n.try(t, levels, 5, none, freshStart)
				require.ErrorContains(t, err, path)
			}
			require.NoError(t, os.Rename(disk+"-not-mounted", disk))
			require.Contains(t, n.job(t, "", 4, none), "version=3 ")
			// It is older than what is there now: nobody needs it, and nobody deletes it.
			require.NoError(t, os.Rename(disk, disk+"-not-mounted"))
			for until := 5; until < 8; until++ {
				log := n.job(t, "", until, none)
				require.Contains(t, log, fmt.Sprintf("version=%d ", until-1))
				require.Contains(t, log, path)
			}
			require.NoError(t, os.Rename(disk+"-not-mounted", disk))
			require.Contains(t, n.job(t, "", 0, none), "version=7 ")
		})
	}
}

// The same for one that the newest version refers to for chunks that have not changed: its
// bytes may be fine.
func TestBaseIsALinkThatLeadsNowhere(t *testing.T) {
	for name, link := range map[string]func(version string) string{
		"version": func(version string) string { return version },
		"part":    func(version string) string { return filepath.Join(version, "rank-00003-of-00008.craft") },
	} {
		t.Run(name, func(t *testing.T) {
			n, delta := newTestNodes(t, eightOnFour...), WithDelta(3) // version 6 refers to 5
			n.job(t, "", 6, none, delta)
			path := link(glob(t, filepath.Join(n.dir, "pfs", "grid", "v-000005-*"))[0])
			disk := filepath.Join(t.TempDir(), "disk")
			require.NoError(t, os.Rename(path, disk))
			require.NoError(t, os.Symlink(disk, path))
			require.NoError(t, os.Rename(disk, disk+"-not-mounted"))
			for _, levels := range []string{"", "local"} {
				log, err := n.try(t, levels, 7, none, delta)
				require.ErrorContains(t, err, path+" is a link")
				require.NotContains(t, log, "set aside")
			}
			require.NoError(t, os.Rename(disk+"-not-mounted", disk))
			require.Contains(t, n.job(t, "", 7, none, delta), "version=6 ")
		})
	}
}

// A fresh start says of it what it is, and not how many ranks it has lost.
func TestFreshStartAndALinkThatLeadsNowhere(t *testing.T) {
	for name, c := range map[string]struct{ link, lost string }{
		"version": {"", ""},
		"part":    {"rank-00003-of-00008.craft", "the parts of ranks 3 of 8 cannot be had: "},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "", 3, none)
			path := filepath.Join(glob(t, filepath.Join(n.dir, "pfs", "grid", "v-000002-*"))[0], c.link)
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.Symlink(filepath.Join(n.dir, "not-mounted"), path))
			log := n.job(t, "local", 1, none, freshStart)
			require.Contains(t, log, `lost="`+c.lost+path+" is a link")
		})
	}
}

// The same for the directory of the checkpoint, and for what is above it.
func TestDirectoryIsALinkThatLeadsNowhere(t *testing.T) {
	for _, levels := range []string{"", "local"} {
		for _, link := range []string{"pfs", "pfs/grid"} {
			n := newTestNodes(t, 0, 1)
			n.job(t, levels, 2, none)
			path, disk := filepath.Join(n.dir, link), filepath.Join(t.TempDir(), "disk")
			require.NoError(t, os.Rename(path, disk))
			require.NoError(t, os.Symlink(disk, path))
			require.NoError(t, os.Rename(disk, disk+"-not-mounted"))
			_, err := n.try(t, levels, 5, none)
			require.ErrorContains(t, err, path+" is a link")
		}
	}
}

func partName(rank int) string { return fmt.Sprintf("rank-%05d-of-00002.craft", rank) }
