// Package trigger decides when a version is due. It has no clock: times are durations since some
// start, which the caller measures, so that everything in it runs in tables and in simulation.
//
//	         Begin              Ended             Due
//	          |                   |                |
//	----------+---- the cost -----+----------------+------>
//	          |<---------- the interval ---------->|
//
// Terms:
//
//   - The cost of a version is what the program loses by it: the time that it waits, and the share of
//     the processors that the background takes.
//   - The interval is from one begin to the next.
//   - A level of several that versions are kept at is needed by those failures which it survives and
//     those below it do not. Each has an interval, from its own cost and the rate of these failures.
//   - MTBF is the mean time between failures of the job, all its processes together.
//
// For one level the interval is the one of which
//
//	J. W. Young: A first order approximation to the optimum checkpoint interval. CACM 17(9), 1974
//	J. T. Daly: A higher order estimate of the optimum checkpoint interval for restart dumps. FGCS 22(3), 2006
//
// show that it loses the least: sqrt(2 C M) to the first order. For several levels the loss is, to the
// same order, the sum of C/T + T/(2 M) over the levels, so that each term is least by itself; where that
// would give a higher level the shorter interval, both get the one that is best for their sum.
//
// What is measured is never believed at once: see Costs and Failures. With no failure seen, the interval
// is bounded by what may be lost at most.
package trigger
