package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeVerification is the JSON document of craft node verify.
type nodeVerification struct {
	Path   osstring.String `json:"path"`
	OK     bool            `json:"ok"`
	Places []verifiedPlace `json:"places"`
}

type verifiedPlace struct {
	Dir        osstring.String `json:"directory"`
	Checkpoint string          `json:"checkpoint"`
	Parts      int             `json:"parts"` // that were read
	Copies     int             `json:"copies"`
	Parity     int             `json:"parity"`
	Bytes      int64           `json:"bytes"`
	Verdict    string          `json:"verdict"`
	Findings   []finding       `json:"findings"`
}

func (p *program) nodeVerifyCommand(root func() string) *cobra.Command {
	return p.placesCommand(root, "tables", p.nodeVerify, &cobra.Command{
		Use:   "verify",
		Short: "Read every byte that checkpoints have on this node, and check it",
		Long: `Read every byte of all parts, copies and parity files that checkpoints have on
this node, and check it against the checksums, and that each file is what its name
says. What vanishes meanwhile, because a job goes on, is left out. Whether versions
are complete depends on other nodes and is not checked: craft verify does that.

Verdicts: ok; damaged: bytes are wrong; unreadable: they could not be read now;
unsupported: a newer craft is needed.`,
		Example: `  craft node verify
  srun --ntasks-per-node=1 craft node verify --json`,
	})
}

func (p *program) nodeVerify(ctx context.Context, root string) (seen overview, err error) {
	places, err := p.nodePlaces(ctx, root)
	if err != nil {
		return seen, err
	}
	result := nodeVerification{Path: osstring.String(root), OK: true, Places: []verifiedPlace{}}
	for _, place := range places {
		v, err := verifyPlace(ctx, p.fs, place)
		if err != nil {
			return seen, err
		}
		result.OK = result.OK && v.Verdict == verdictOK
		result.Places = append(result.Places, v)
	}
	return overview{document: result, empty: len(places) == 0, failed: !result.OK}, nil
}

// verifyPlace reads all objects of a place. The error is that of the context.
func verifyPlace(ctx context.Context, fsys vfs.FS, place nodelocal.Place) (verifiedPlace, error) {
	out := verifiedPlace{Dir: osstring.String(place.Dir), Checkpoint: place.Owner.Name, Verdict: verdictOK, Findings: []finding{}}
	var objects []nodelocal.Object
	var store *nodelocal.Store
	err := place.Err
	if err == nil {
		store, err = place.Store(fsys)
	}
	if err == nil {
		objects, err = store.Inventory(ctx)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Findings = append(out.Findings, finding{Kind: verdictUnreadable, File: osstring.String(place.Dir), Reason: err.Error()})
		out.Verdict = verdictUnreadable
		return out, nil
	}
	errs := make([]error, len(objects))
	err = severalAtOnce(ctx, len(objects), func(i int) { errs[i] = readObject(ctx, store, place.Owner.Name, objects[i]) })
	if err != nil {
		return out, err
	}
	for i, o := range objects {
		out.enter(o, errs[i])
	}
	out.Verdict = worst(out.Findings, verdictOK)
	return out, nil
}

// enter counts an object, unless it has vanished.
func (v *verifiedPlace) enter(o nodelocal.Object, err error) {
	if errors.Is(err, storage.ErrNotFound) {
		return
	}
	if err != nil {
		v.Findings = append(v.Findings, findingOf(filepath.Join(string(v.Dir), o.Name()), err))
	}
	v.Bytes += o.Size
	switch o.Kind {
	case storage.KindPart:
		v.Parts++
	case storage.KindCopy:
		v.Copies++
	case storage.KindParity:
		v.Parity++
	}
}

// readObject reads an object of a checkpoint and says what is wrong with it.
func readObject(ctx context.Context, store *nodelocal.Store, name string, o nodelocal.Object) error {
	if o.Kind == storage.KindParity {
		return readParity(ctx, store, o)
	}
	files, err := storage.NewStore(store.Of(o.Kind), container.Options{})
	if err != nil {
		return err
	}
	f, err := files.Open(ctx, name, o.ID, o.Part)
	if err != nil {
		return err
	}
	// What it refers to is an object of its own.
	return errors.Join(f.Reader.Verify(ctx), f.Close())
}

func readParity(ctx context.Context, store *nodelocal.Store, o nodelocal.Object) error {
	f, err := store.OpenObject(ctx, o.ObjectKey)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	parity, err := erasure.OpenParity(f, f.Size())
	if err != nil {
		return err
	}
	id, ranks, size, err := erasure.SetOf(parity.Header())
	if err != nil {
		return err
	}
	if rank := ranks[parity.Header().Member]; id != o.ID || size != o.Part.Size || rank != o.Part.Rank {
		return fmt.Errorf("the file says it is of rank %d of %d and version %v: it was copied or renamed: %w", rank, size, id, storage.ErrDamaged)
	}
	return parity.Verify(ctx)
}

func (r nodeVerification) print(s *screen) {
	t := newTable(left("CHECKPOINT"), right("PARTS"), right("COPIES"), right("PARITY"), right("SIZE"), left("VERDICT"), left("DIRECTORY"))
	var found []finding
	for _, v := range r.Places {
		t.add(v.Checkpoint, strconv.Itoa(v.Parts), strconv.Itoa(v.Copies), strconv.Itoa(v.Parity), s.size(v.Bytes), v.Verdict, string(v.Dir))
		found = append(found, v.Findings...)
	}
	s.show(t, s.width)
	s.showFindings(found)
}
