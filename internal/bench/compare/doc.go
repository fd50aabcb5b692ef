// Command compare runs measurements in turn, in one run on one machine, and compares them
// round by round: figures of different machines or days cannot be compared, and a machine has
// its moods.
//
//	go run ./internal/bench/compare -rounds 15 internal/bench/compare/storage.plan
//
// A plan has a line for each measurement, with tabs between its fields: a name, a regular
// expression whose group is the time in milliseconds in what the command prints, and the command,
// for sh. A line
//
//	ratio	name	one / other
//
// asks for the ratio of two measurements, taken within each round; a measurement is then one
// of a round or, if its command prints it several times, the median of them. Measurements
// with the same command, one after the other, are read from one run of it. Lines that
// begin with # are for people. A measurement whose command exits with 77 is not there on this
// machine, and left out.
//
// It prints tables in Markdown: the machine, medians with the 95 % interval of the median,
// and how much of the time the machine was busy with other things.
package main
