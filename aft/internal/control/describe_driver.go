package control

import "github.com/craft-go/craft/aft/comm/driver"

// The types of package driver that messages hold.

func policyFields(c *coder, p *driver.Policy) {
	text(c, &p.Recovery)
	text(c, &p.Spawn)
	c.bool(&p.Synchronous)
}

func verdictFields(c *coder, v *driver.Verdict) {
	text(c, &v.Err)
	c.bool(&v.Failure)
	c.bool(&v.Through)
}

func outcomeFields(c *coder, o *driver.Outcome) {
	c.bool(&o.Repair)
	text(c, &o.Err)
	signed(c, &o.ErrRank)
}

func changeFields(c *coder, d *driver.Change) {
	signed(c, &d.Epoch)
	list(c, &d.Failed, lossFields)
	numbers(c, &d.Replaced, signed)
	numbers(c, &d.Ranks, signed)
	signed(c, &d.Phases.Gather)
	signed(c, &d.Phases.Spawn)
	signed(c, &d.Phases.Connect)
}

func lossFields(c *coder, l *driver.Loss) {
	signed(c, &l.Original)
	signed(c, &l.Rank)
	signed(c, &l.Node)
	text(c, &l.Reason)
	c.bool(&l.Evicted)
}

func zoneErrorFields(c *coder, z *driver.ZoneError) {
	signed(c, &z.First)
	signed(c, &z.Last)
	text(c, &z.Err)
	signed(c, &z.Rank)
}

func bequestFields(c *coder, b *driver.Bequest) {
	text(c, &b.Name)
	list(c, &b.Memory, memoryFields)
}

func memoryFields(c *coder, m *driver.Memory) {
	signed(c, &m.PID)
	signed(c, &m.FD)
	signed(c, &m.Size)
	signed(c, &m.Token)
}
