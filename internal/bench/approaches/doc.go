// Command approaches repeats the experiment of the Reinit++ paper (Georgakoudis, Guo, Laguna, ISC 2020,
// sections 4 and 5): the same programs under each way to survive a failure, with the same failures.
package main
