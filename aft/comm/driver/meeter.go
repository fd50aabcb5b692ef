package driver

import "github.com/craft-go/craft/internal/demand"

// Meeter is a session, or a communicator, whose process can be asked to store a version or to end, together with all
// others of its job. Of one that is none the process is a job of its own.
type Meeter interface {
	// Point is where the calls of this process meet those of the others: the same for all communicators of it, and as
	// long as it is one of the job. Any goroutine may call it.
	//
	// The engine hands the point what the job decides (Hold, Meet), and says when counts begin anew (Renew): with the
	// first communicator of the job, after each repair, and when a zone has ended. It does so in the order in which all
	// processes are told, and without waiting for the program.
	Point() *demand.Point
}
