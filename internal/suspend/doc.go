// Package suspend tells how long this machine has slept. Clocks of a program
// (time.Now, timers) stand still while it does.
package suspend
