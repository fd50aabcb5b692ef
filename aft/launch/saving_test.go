package launch

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// saveProgram prints for ever. When it is asked to end it saves, which takes some time and
// many lines, and ends with code 3.
func saveProgram(args []string) int {
	_, m := whoAmI()
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM)
	for {
		select {
		case s := <-signals:
			fmt.Println("asked by", s)
			for range 100 {
				fmt.Println("saving")
				time.Sleep(time.Millisecond)
			}
			name := filepath.Join(args[0], fmt.Sprint("saved by ", m.Start[0].Original))
			if err := os.WriteFile(name, []byte(s.String()), 0o600); err != nil {
				panic(err)
			}
			return 3
		case <-time.After(time.Millisecond):
			fmt.Println("line of rank", m.Start[0].Original)
		}
	}
}

// scriptedProgram saves what it has when it is asked to end, which takes longer than its shell
// lives. It joins the job, or not. counts: its shell may go on, and there may be more signals. keeps:
// it goes on after SIGUSR1.
func scriptedProgram(args []string) int {
	asked := make(chan os.Signal, 9)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	shell := os.Getppid()
	if args[0] == "joined" {
		in, m := whoAmI()
		say(control.Message{Kind: control.KindHello, Hello: &control.Hello{Proc: m.Start[0].Proc, Version: control.Version, Address: "none"}})
		go func() {
			for seq := uint64(1); ; seq++ { // until its end
				say(control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq, Step: control.NoStep}})
				time.Sleep(50 * time.Millisecond)
			}
		}()
		for m.Kind != control.KindMade {
			m, _ = control.ReadMessage(in)
		}
	}
	fmt.Println("ready")
	for <-asked == syscall.SIGUSR1 && args[len(args)-1] == "keeps" {
		fmt.Println("asked")
	}
	for len(args) == 1 && os.Getppid() == shell {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // what there is to save
	fmt.Println("saved", len(asked))
	return 0
}
