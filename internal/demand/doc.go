// Package demand is how all ranks of a job come to do the same at the same call: store a
// version that somebody asks for, or store one and end.
//
//	who asks: a signal, a deadline,          Decider (of the job)          Point (of each process)
//	a program, a command           --Ask-->  Hold ------------------------>  calls wait
//	                                         <------------------- Passed     how many have passed
//	                                         Meet ------------------------>  the call that it is, for all
//
// A call of a checkpoint costs one atomic operation while nothing is asked for. A Hold has the
// next call of each process wait, and its runtime, not its step, answer at once how many calls
// have passed. The call at which all meet is the one behind the furthest of them: no process has
// passed it, whoever is behind goes on to it. So ranks may be any number of calls apart, and need
// not communicate.
//
// # Lanes
//
// Calls are counted in lanes. What all ranks of the job call in one order is in one lane, World,
// whichever checkpoint it is: nested ones too. A checkpoint of fewer ranks has a lane of its own, with a
// key that its ranks have in common. If somebody has the lane World open it decides for the job, and
// calls of other lanes go on: all ranks will come to a call of it. Otherwise each lane has a
// meeting of its own. Who leaves a lane before it has met, or opens one that no meeting knows of,
// says so (Changed), and it is decided anew.
//
// # Generations
//
// Counts can be compared within one generation: a repair and the end of a zone begin another one,
// with zero. The decider and all processes learn of that in the same order as of everything
// that the root of a job decides, so that a Hold is answered in the generation that it was sent in. The decider keeps a version that was
// asked for until one of its ranks says that it is stored (Stored), and asks for it again in the next generation:
// its meeting may not have come before a failure did.
//
// # Plans
//
// A deadline that is known long before is a plan: all are told of it, and whoever keeps the
// checkpoint's pace asks for the end when the time for it has come.
//
// Nothing here has sockets, goroutines of its own or clocks: Decider and Point are pure but for calls
// that wait.
package demand
