package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

// showing is what the user wants to see.
type showing struct {
	version string // "latest" or a number
	rank    int    // -1: all together
	ranks   bool
	values  bool
	limit   int

	given func(flag string) bool
}

// maxLimit is how many elements --values shows at most.
const maxLimit = 1_000_000

func (p *program) showCommand() *cobra.Command {
	var s showing
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Show what a version holds",
		Long: `Show what a version holds: who wrote it and when, and its keys.

DIR is a checkpoint, one of its versions, or a single file of a version. Sizes
are sums over all ranks: raw before compression, stored in the files. The digest
is there where all ranks hold the same value, or where one rank is shown.

Where versions are kept on the storage of nodes, it is also shown how a version
was to be protected there, where it is, and which older versions have those of
its chunks that had not changed. Files are read from the parallel file system, or
from the storage of the nodes as far as it is on this machine.`,
		Example: `  craft show cp/lanczos
  craft show cp/lanczos --version 12 --ranks
  craft show cp/lanczos --rank 3 --values --limit 4
  craft show cp/lanczos/v-000012-0123456789abcdef/rank-00003-of-00008.craft`,
		Args: directories(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.given = cmd.Flags().Changed
			if err := s.check(); err != nil {
				return err
			}
			return p.show(cmd.Context(), args[0], s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.version, "version", "latest", "number of the version; latest: the newest complete one")
	flags.IntVar(&s.rank, "rank", -1, "show the file of this rank alone")
	flags.BoolVar(&s.ranks, "ranks", false, "also what each rank holds, with the boxes of partitioned arrays")
	flags.BoolVar(&s.values, "values", false, "also the first elements of each key, of the first rank or of --rank")
	flags.IntVar(&s.limit, "limit", 8, "number of elements that --values shows")
	p.jsonFlag(cmd, "tables")
	return cmd
}

func (s *showing) check() error {
	switch n, err := strconv.ParseUint(s.version, 10, 64); {
	case s.version != "latest" && (err != nil || n == 0):
		return &usageError{fmt.Errorf("--version %q: it must be latest or a number from 1 on", s.version)}
	case s.given("rank") && s.rank < 0:
		return &usageError{fmt.Errorf("--rank %d: ranks count from 0", s.rank)}
	case s.limit < 1:
		return &usageError{fmt.Errorf("--limit %d: it must be at least 1", s.limit)}
	case s.limit > maxLimit:
		return &usageError{fmt.Errorf("--limit %d: it must be at most %d", s.limit, maxLimit)}
	}
	return nil
}

// fits refuses a --version or --rank that is not that of what DIR names; rank < 0: all.
func (s *showing) fits(dir string, version uint64, rank int) error {
	if n, _ := strconv.ParseUint(s.version, 10, 64); s.given("version") && n != version { // latest is 0
		return &usageError{fmt.Errorf("--version %s: %s is of version %d", s.version, dir, version)}
	}
	if rank >= 0 && s.given("rank") && s.rank != rank {
		return &usageError{fmt.Errorf("--rank %d: %s is the file of rank %d", s.rank, dir, rank)}
	}
	return nil
}

// readPart is the file of one rank.
type readPart struct {
	path   string
	reader *container.Reader // closed: only its index is used
	bytes  int64
}

// showLooks is how often the newest version is looked for whose files vanish meanwhile.
const showLooks = 10

func (p *program) show(ctx context.Context, dir string, s showing) error {
	for look := 1; ; look++ {
		if err := p.showFound(ctx, dir, s, look < showLooks); !errors.Is(err, errReplaced) {
			return err
		}
	}
}

// errReplaced is returned when the newest version was deleted while it was looked at.
var errReplaced = errors.New("a newer version has taken its place")

// showFound shows what is found now. If another version may be shown as well, one of which
// files vanish is errReplaced.
func (p *program) showFound(ctx context.Context, dir string, s showing, another bool) error {
	where, err := find(ctx, p.fs, dir)
	if err != nil {
		return err
	}
	if where.loose {
		return p.showLoose(dir, s)
	}
	c, err := where.single("show")
	if err != nil {
		return err
	}
	if where.version != nil {
		if err := s.fits(dir, where.version.Version, where.rank()); err != nil {
			return err
		}
	}
	v, err := p.choose(ctx, c, where, s.version)
	if err != nil {
		return errors.Join(append(c.Unread, err)...)
	}
	if where.part != nil {
		s.rank = where.rank()
	}
	parts, first, bad := readParts(ctx, c, v, s)
	bad = append(bad, c.Unread...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if another && s.version == "latest" && where.version == nil && v.Complete() && errors.Is(errors.Join(bad...), storage.ErrNotFound) {
		return errReplaced
	}
	switch {
	case len(parts) > 0:
	case v.Elsewhere:
		return otherNodes(c, v)
	case v.Noted != nil && v.Size() == 0:
		return fmt.Errorf("version %d was kept at level %v on nodes, and nothing of it is left on them", v.ID.Version, v.Noted.Levels)
	default:
		return errors.Join(append(bad, noParts(v, s.rank))...)
	}
	d := describeParts(v, parts)
	if err := d.describeLevels(ctx, c, v, parts); err != nil {
		return err
	}
	d.addKeys(parts, first, s)
	return p.presentVersion(d, s, bad)
}

// presentVersion prints what was found, and then what could not be read.
func (p *program) presentVersion(d *shownVersion, s showing, bad []error) error {
	if s.rank >= 0 {
		d.Rank = &s.rank
	}
	d.ranks, d.values = s.ranks, s.values
	return p.present(overview{document: d, problems: bad})
}

func noParts(v *offline.Version, rank int) error {
	switch size := v.Size(); {
	case rank < 0:
		return fmt.Errorf("%s: nothing in it can be shown", v.Path)
	case size > 0 && rank >= size:
		return fmt.Errorf("%s: there is no rank %d, it was written by ranks 0 to %d", v.Path, rank, size-1)
	}
	return fmt.Errorf("%s: the file of rank %d cannot be shown", v.Path, rank)
}

// choose finds the version to show.
func (p *program) choose(ctx context.Context, c *offline.Checkpoint, where *location, wanted string) (*offline.Version, error) {
	list, err := c.Versions(ctx)
	if err != nil {
		return nil, err
	}
	if where.version != nil {
		if i := slices.IndexFunc(list, func(v offline.Version) bool { return v.ID == *where.version }); i >= 0 {
			return &list[i], nil
		}
		return nil, fmt.Errorf("no such version: %s is gone", c.Files.Path(*where.version))
	}
	if len(list) == 0 {
		if gone := c.Gone(list); gone != nil {
			return nil, fmt.Errorf("no such version: %w", gone)
		}
		return nil, fmt.Errorf("no such version: %s holds none", c.Store.Dir())
	}
	if wanted == "latest" {
		last := &list[len(list)-1]
		if gone := c.Gone(list); gone != nil {
			p.say("this is not the newest version: %v", gone)
		}
		for _, why := range last.Away {
			if !last.Complete() {
				p.say("this is not the newest version: %s", why)
			}
		}
		if at := offline.NewestComplete(list); at >= 0 {
			if last.Noted != nil && last.Elsewhere {
				p.say("this is not the newest version: %v", otherNodes(c, last))
			}
			return &list[at], nil
		}
		if last.Size() != 0 || last.Noted == nil {
			p.say("no version is complete; this is the newest one, of which there are %s", last.State())
		}
		return last, nil
	}
	return numbered(list, wanted, c.Store.Dir())
}

func numbered(list []offline.Version, wanted, dir string) (*offline.Version, error) {
	n, _ := strconv.ParseUint(wanted, 10, 64) // checked before
	var same []*offline.Version
	var there []string
	for i := range list {
		v := &list[i]
		there = append(there, strconv.FormatUint(v.ID.Version, 10))
		if v.ID.Version == n {
			same = append(same, v)
		}
	}
	switch len(same) {
	case 1:
		return same[0], nil
	case 0:
		return nil, fmt.Errorf("no such version: %s has no version %d, there are: %s", dir, n, strings.Join(there, ", "))
	}
	paths := make([]string, len(same))
	for i, v := range same {
		paths[i] = v.Path
	}
	return nil, fmt.Errorf("several attempts wrote a version %d; name one: %s", n, strings.Join(paths, ", "))
}

// readParts reads the indexes of all parts of a version, or of that of one rank, and the
// values that are to be shown. One file at a time is open: there may be more than a
// process may have open.
func readParts(ctx context.Context, c *offline.Checkpoint, v *offline.Version, s showing) (parts []readPart, first firstValues, bad []error) {
	first = make(firstValues)
	snapshot := c.Snapshot(v)
	for _, part := range v.Parts {
		if s.rank >= 0 && part.Rank != s.rank {
			continue
		}
		err := snapshot.With(ctx, part.Rank, func(f *storage.File) error {
			at, _ := c.Store.Locate(ctx, v.ID, part) // it was opened
			one := readPart{path: at.Path, reader: f.Reader, bytes: at.Size}
			if s.values {
				bad = append(bad, first.read(one, s.limit)...)
			}
			parts = append(parts, one)
			return nil
		})
		if err != nil {
			bad = append(bad, err)
		}
	}
	return parts, first, bad
}

// showLoose shows a file that is not where a program would look for it.
func (p *program) showLoose(path string, s showing) error {
	f, err := p.fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	r, err := container.Open(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	h := r.Header()
	if err := s.fits(path, h.Version, h.Rank); err != nil {
		return err
	}
	part, first := readPart{path: path, reader: r, bytes: info.Size()}, make(firstValues)
	var bad []error
	if s.values {
		bad = first.read(part, s.limit)
	}
	id, p0 := storage.Identity(h)
	v := &offline.Version{Entry: storage.Entry{ID: id, Parts: []storage.Part{p0}}, Path: path}
	s.rank = h.Rank
	p.say("%s is not in the directory of its version: no program will find it there", path)
	d := describeParts(v, []readPart{part})
	d.addKeys([]readPart{part}, first, s)
	return p.presentVersion(d, s, bad)
}
