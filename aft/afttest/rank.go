package afttest

import (
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/embedded"
)

// Rank is one rank of a job, and what makes others fail. Its methods may be called
// concurrently, but Comm and Die, which are the body's own.
type Rank struct {
	job     *embedded.InprocRank
	cluster *Cluster
	node    int
	session *comm.Session
}

// Comm is the communicator of all ranks of the job: the present one, after a recovery.
func (r *Rank) Comm() *comm.Comm { return r.session.Place().Comm }

// Driver is the engine below Comm, for tests that put something before it (comm.New).
func (r *Rank) Driver() driver.Comm { return r.job.Session().Place().Comm }

// Session is the rank's part in its job, which its context carries as well.
func (r *Rank) Session() *comm.Session { return r.session }

// Node is the number of the node that the rank is on.
func (r *Rank) Node() int { return r.node }

// NodeDir is the directory of that node; "" if the cluster has none.
func (r *Rank) NodeDir() string { return r.cluster.NodeDir(r.node) }

// Replacement reports whether this rank was started in the place of one that has failed.
func (r *Rank) Replacement() bool { return r.job.Replacement() }

// Die ends this rank at once, as SIGKILL does: it does not return.
func (r *Rank) Die() { r.job.Die() }

// Kill ends the process that stands for an original rank now, and returns. Where there is
// none (it was lost, and not replaced) nothing happens.
func (r *Rank) Kill(original comm.OriginalRank) { r.job.Kill(int(original)) }

// KillNode ends a node with all that runs there, as the loss of the machine does, and
// returns. The ranks of the job are then on the others. A node that the cluster does
// not have cannot die: it panics.
func (r *Rank) KillNode(node int) {
	if node < 0 || node >= r.cluster.size() {
		panic(fmt.Sprintf("afttest: KillNode(%d): the cluster has the nodes 0 to %d", node, r.cluster.size()-1))
	}
	r.job.KillNode(node)
}
