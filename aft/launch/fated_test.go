package launch

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/env"
)

// fatedProgram joins, says who it is, and does what the argument for its deployment says: "WHAT:RANK"
// is for one rank, while the others wait. The last argument is for all deployments that follow.
func fatedProgram(args []string) int {
	in, m := whoAmI()
	self, node := m.Start[0], m.Setup.Node
	say(control.Message{Kind: control.KindHello, Hello: &control.Hello{Proc: self.Proc, Version: control.Version, Address: "none"}})
	period, made := m.Setup.Timing.Period, m
	for made.Kind != control.KindMade {
		var err error
		if made, err = control.ReadMessage(in); err != nil {
			return 9
		}
	}
	go func() { // what is said is dropped
		for {
			if _, err := control.ReadMessage(in); err != nil {
				return
			}
		}
	}()
	go func() {
		for seq := uint64(1); ; seq++ {
			say(control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq, Step: control.NoStep}})
			time.Sleep(period)
		}
	}()
	restart, err := strconv.Atoi(os.Getenv(env.Restart))
	if err != nil {
		panic(err)
	}
	fmt.Printf("deployment %d, epoch %d: rank %d on node %d began %d\n", restart, made.Made.Epoch, self.Original, node, time.Now().UnixNano())
	what, who, _ := strings.Cut(args[min(restart, len(args)-1)], ":")
	switch {
	case what == "end":
		say(control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: self.Proc}})
		return 0
	case what == "signal":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("waits for a signal")
		<-signals
		return 7
	case who != fmt.Sprint(self.Original):
		for what == "agent" {
			beat(os.Getenv(fateVariable))
		}
		time.Sleep(time.Hour)
	case what == "later": // leases are short ones soon after the start; the test only takes longer if not yet
		time.Sleep(time.Second)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case what == "step": // is reported, and the last
		say(control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: 1, Step: 42}})
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case what == "kill":
		fmt.Println("last words")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case what == "flood": // more than is taken where nobody reads
		for i := range floodOfFate {
			fmt.Printf("%01023d\n", i)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case what == "node":
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	case what == "agent": // of another node, and then this process
		dir := os.Getenv(fateVariable)
		// As of later.
		for began := time.Now(); beaten(dir) < began.Add(time.Second).UnixNano(); time.Sleep(time.Millisecond) {
		}
		text, _ := os.ReadFile(filepath.Join(dir, "agent"))
		agent, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		_ = syscall.Kill(agent, syscall.SIGKILL)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	default:
		code, _ := strconv.Atoi(what)
		return code
	}
	select {}
}

// floodOfFate is how many KiB are more than a daemon has on the way, and less than that, its buffers and a pipe hold.
const floodOfFate = window>>10 + 44

// fateVariable is a directory that ranks leave something in.
const fateVariable = "CRAFT_TEST_FATE"

// beat leaves the time.
func beat(dir string) {
	name := filepath.Join(dir, "beat")
	if err := os.WriteFile(name+".new", fmt.Append(nil, time.Now().UnixNano()), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		panic(err)
	}
}

// beaten is the time that was left; 0: none was yet.
func beaten(dir string) int64 {
	text, _ := os.ReadFile(filepath.Join(dir, "beat"))
	at, _ := strconv.ParseInt(string(text), 10, 64)
	return at
}
