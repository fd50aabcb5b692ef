package placement

import (
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// core is what the parts of a Placement share.
type core struct {
	name     string     // of the checkpoint
	comm     *comm.Comm // of the job
	home     storage.Driver
	local    *nodelocal.Store  // nil: there are no nodes
	service  *exchange.Service // to the other ranks; nil as well
	nodes    *nodes
	register *register
	log      *slog.Logger
}
