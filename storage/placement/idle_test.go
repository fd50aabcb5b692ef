package placement

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Who waits until nobody wants anything is called when that has been so for a while without a
// break, and not while anything is being done, however long that takes.
func TestWhenIdle(t *testing.T) {
	const quiet = 2 * time.Second
	for name, c := range map[string]struct {
		does func(i *idleness)
		at   time.Duration // when f is called
	}{
		"nothing": {func(*idleness) {}, quiet},
		"a short while": {func(i *idleness) {
			time.Sleep(time.Second)
			i.begin()
			i.end()
		}, time.Second + quiet},
		"two at a time": {func(i *idleness) {
			i.begin()
			i.begin()
			time.Sleep(5 * time.Second)
			i.end()
			time.Sleep(5 * time.Second)
			i.end()
		}, 10*time.Second + quiet},
		"a stream": {func(i *idleness) {
			ctx, cancel := context.WithTimeout(context.Background(), 7*time.Second)
			defer cancel()
			i.until(ctx)
			<-ctx.Done()
		}, 7*time.Second + quiet},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var i idleness
				began, called := time.Now(), make(chan time.Duration, 1)
				defer i.when(quiet, func() { called <- time.Since(began) })()
				go c.does(&i)
				require.Equal(t, c.at, <-called)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var i idleness
		i.begin() // before anybody wants to know
		stop := i.when(quiet, func() { t.Error("stopped") })
		time.Sleep(2 * quiet)
		stop()
		i.end()
		time.Sleep(2 * quiet)
	})
}

// What others store and read here counts until they are done with it, and what fails does not.
func TestHandlerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, err := nodelocal.New(nodelocal.Config{Root: "/node", Name: "cp", Home: "/pfs/cp", FS: vfs.NewMem()})
		require.NoError(t, err)
		require.NoError(t, local.Prepare(t.Context(), nil))
		defer local.Leave()
		h := &handler{local: local, idle: new(idleness)}
		key := storage.ObjectKey{ID: storage.ID{Version: 1, Attempt: container.AttemptID{1}}, Kind: storage.KindCopy, Part: storage.Part{Size: 2}}
		name := verbObject + "/" + key.Name()
		busy := func(want int) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, want, h.idle.busy)
		}
		_, err = h.Open(t.Context(), 1, name)
		require.ErrorIs(t, err, storage.ErrNotFound)
		busy(0)
		ctx, over := context.WithCancel(t.Context())
		w, err := h.Create(ctx, 1, name)
		require.NoError(t, err)
		busy(1)
		require.NoError(t, w.Commit())
		over() // as the exchange does then
		busy(0)
		r, err := h.Open(t.Context(), 1, name)
		require.NoError(t, err)
		busy(1)
		require.NoError(t, r.Close())
		busy(0)
	})
}
