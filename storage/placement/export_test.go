package placement

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// Comm, Home and Dir are those of the Config.
func (p *Placement) Comm() *comm.Comm     { return p.config.Comm }
func (p *Placement) Home() storage.Driver { return p.config.Home }
func (p *Placement) Dir() string          { return p.config.Dir }
