package memory

import (
	"github.com/craft-go/craft/storage/internal/exchange"
)

// receiver is a copy that another rank sends: its bytes are borrowed there, and what is written is the
// recipe.
type receiver struct {
	*writer

	recipe []byte
}

var _ exchange.Expecter = (*receiver)(nil)

// Expect implements exchange.Expecter: what comes is put where it stays.
func (r *receiver) Expect(n int) (take func([]byte), got func(), err error) {
	rooms, err := r.room(n)
	if err != nil {
		return nil, nil, err
	}
	return r.into(rooms), nil, nil
}

// Write takes the recipe.
func (r *receiver) Write(p []byte) (int, error) {
	r.recipe = append(r.recipe, p...)
	return len(p), nil
}

// Commit puts the object together.
func (r *receiver) Commit() error {
	if len(r.recipe) > 0 {
		if err := r.follow(); err != nil {
			_ = r.Abort()
			return err
		}
	}
	return r.writer.Commit()
}

func (r *receiver) follow() error {
	parsed, err := parseRecipe(r.recipe)
	if err != nil {
		return err
	}
	if r.base != nil && r.base.key.ID != parsed.base {
		r.unpin()
		r.pin(parsed.base)
	}
	came := r.made
	r.made = object{}
	defer func() { r.objects.store.extents.giveBack(came.pieces) }() // those that are used are shared
	at := int64(0)
	for _, one := range parsed.runs {
		if one.off != literal {
			err = r.repeat(one.off, int(one.n))
		} else if at += one.n; at <= came.size {
			pieces := came.cut(at-one.n, int(one.n))
			r.objects.store.extents.share(pieces)
			r.append(pieces)
		} else {
			err = exchange.ErrTransfer
		}
		if err != nil {
			return err
		}
	}
	return nil
}
