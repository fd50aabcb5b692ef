package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/testsignal"
)

// rootVariable makes the test binary a root: its value is the job.
const rootVariable = "CRAFT_TEST_ROOT_JOB"

// selfVariable has that root start itself.
const selfVariable = "CRAFT_TEST_ROOT_SELF"

// logVariable has that root tell on standard error what happens to its job.
const logVariable = "CRAFT_TEST_ROOT_LOG"

// TestMain gives the test binary its roles: daemon, rank, root of a job that is
// to be killed, or the tests.
func TestMain(m *testing.M) {
	if code, ok := Daemon(); ok {
		os.Exit(code)
	}
	if IsRank() {
		os.Exit(programs[os.Args[1]](os.Args[2:]))
	}
	if job := os.Getenv(rootVariable); job != "" {
		os.Exit(rootMain(job))
	}
	// The race detector lets every process sleep for a second at its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testsignal.Restore()
	_ = flag.Set("test.parallel", "6") // unless the command line says otherwise: who is t.Parallel here waits
	os.Exit(m.Run())
}

// rootMain is the root as a process of its own.
func rootMain(job string) int {
	_ = os.Unsetenv(rootVariable)
	var cfg Config
	if err := json.Unmarshal([]byte(job), &cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if os.Getenv(logVariable) != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var code int
	var err error
	if os.Getenv(selfVariable) != "" {
		code, _, err = Self(context.Background(), cfg.Ranks, func(c *Config) { *c = cfg })
	} else {
		code, err = Run(context.Background(), cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// programs are what ranks do in tests.
var programs = map[string]func(args []string) int{
	"exit":       exitProgram,
	"print":      printProgram,
	"flood":      floodProgram,
	"sleep":      sleepProgram,
	"signals":    signalsProgram,
	"die":        dieProgram,
	"grandchild": grandchildProgram,
	"join":       joinProgram,
	"place":      placeProgram,
	"files":      filesProgram,
	"mixed":      mixedProgram,
	"meet":       meetProgram,
	"note":       noteProgram,
	"babble":     babbleProgram,
	"save":       saveProgram,
	"scripted":   scriptedProgram,
	"fated":      fatedProgram,
}

// daemonUp leads to the daemon.
var daemonUp = os.NewFile(env.ControlUp, "daemon")

// whoAmI reads the first message of the daemon.
func whoAmI() (*bufio.Reader, control.Message) {
	if !proc.Claim(daemonUp) {
		panic("the connection is another program's")
	}
	in := bufio.NewReader(os.NewFile(env.ControlDown, "daemon"))
	m, err := control.ReadMessage(in)
	if err != nil {
		panic(err)
	}
	return in, m
}

func say(m control.Message) {
	if err := control.WriteMessage(daemonUp, m); err != nil {
		panic(err)
	}
}

// exitProgram: rank r exits with argument r.
func exitProgram(args []string) int {
	_, m := whoAmI()
	code, err := strconv.Atoi(args[m.Start[0].Original])
	if err != nil {
		panic(err)
	}
	return code
}

// printProgram prints numbered lines to both streams, the last one unfinished.
func printProgram(args []string) int {
	_, m := whoAmI()
	rank := m.Start[0].Original
	n, _ := strconv.Atoi(args[0])
	for i := range n {
		fmt.Printf("rank %d line %d\n", rank, i)
		if i%10 == 0 {
			fmt.Fprintf(os.Stderr, "rank %d error %d\n", rank, i)
		}
	}
	fmt.Printf("rank %d ends", rank)
	return 0
}

// floodProgram prints as fast as it can: so many KiB, and then a word on stderr.
func floodProgram(args []string) int {
	n, _ := strconv.Atoi(args[0])
	line := []byte(strings.Repeat("0123456789abcde", 68) + "\n") // 1021 bytes
	for range n {
		_, _ = os.Stdout.Write(line)
	}
	fmt.Fprintln(os.Stderr, "flooded")
	return 0
}

// sleepProgram waits for its end.
func sleepProgram([]string) int {
	_, m := whoAmI()
	fmt.Printf("rank %d of node %d is %d\n", m.Start[0].Original, m.Setup.Node, os.Getpid())
	time.Sleep(time.Hour)
	return 0
}

// noteProgram notes its number in a file of its rank, and prints for ever.
func noteProgram(args []string) int {
	_, m := whoAmI()
	name := fmt.Sprintf("%s/%d", args[0], m.Start[0].Original)
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		panic(err)
	}
	for {
		fmt.Println(strings.Repeat("a line of the program ", 20))
	}
}

// babbleProgram sends what is no message.
func babbleProgram([]string) int {
	_, _ = whoAmI()
	_, _ = daemonUp.Write(make([]byte, 4))
	time.Sleep(time.Hour)
	return 0
}

// signalsProgram tells the signals that it gets, until SIGTERM.
func signalsProgram([]string) int {
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM)
	fmt.Println("ready")
	for s := range signals {
		fmt.Println(s)
		if s == syscall.SIGTERM {
			return 7
		}
	}
	return 0
}

// dieProgram prints and is killed.
func dieProgram([]string) int {
	fmt.Println("last words")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// grandchildProgram leaves a process behind that keeps its output open.
func grandchildProgram(args []string) int {
	child := exec.Command("sleep", "1000")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		panic(err)
	}
	fmt.Println("started", child.Process.Pid)
	if len(args) > 0 {
		time.Sleep(time.Hour)
	}
	return 0
}

// mixedProgram: rank 0 ends and leaves a process behind, the others stay.
func mixedProgram([]string) int {
	_, m := whoAmI()
	if m.Start[0].Original == 0 {
		return grandchildProgram(nil)
	}
	time.Sleep(time.Hour)
	return 0
}

// joinProgram speaks the protocol: it takes part until the world has lost one.
func joinProgram(args []string) int {
	in, m := whoAmI()
	self := m.Start[0].Proc
	say(control.Message{Kind: control.KindHello, Hello: &control.Hello{Proc: self, Version: control.Version, Address: "none"}})
	for {
		m, err := control.ReadMessage(in)
		if err != nil {
			return 9
		}
		switch m.Kind {
		case control.KindMade:
			fmt.Printf("world of %d here is %d\n", len(m.Made.New.Procs), os.Getpid())
			if args[0] == "die" {
				return 0
			}
			if args[0] == "leave" {
				say(control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: self}})
				return 0
			}
		case control.KindFailed:
			fmt.Printf("lost %v at %d\n", m.Failed, time.Now().UnixNano())
			say(control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: self}})
			return 0
		}
	}
}

// placeProgram shows its surroundings.
func placeProgram([]string) int {
	_, m := whoAmI()
	dir, _ := os.Getwd()
	info, err := os.Stat(os.Getenv(env.NodePath))
	fmt.Printf("node=%d hosts=%d address=%s dir=%s storage=%s mode=%v err=%v mine=%s policy=%s,%s keep=%s gogc=%s secret=%d\n",
		m.Setup.Node, m.Setup.Hosts, m.Setup.Address, dir, os.Getenv(env.NodePath), info.Mode().Perm(), err, os.Getenv("MINE"),
		os.Getenv(env.RecoveryPolicy), os.Getenv(env.SpawnPolicy), os.Getenv("CRAFT_KEEP"), os.Getenv("GOGC"), len(m.Setup.Secret))
	return 0
}

// filesProgram lists its descriptors. The directory that it reads is the last one.
func filesProgram([]string) int {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, _ := os.Readlink("/proc/self/fd/" + e.Name())
		fmt.Println(e.Name(), target)
	}
	fmt.Println(err)
	return 0
}

// meetProgram: every rank connects to every other one at the address that the job
// has for it.
func meetProgram([]string) int {
	in, m := whoAmI()
	self := m.Start[0].Proc
	l, err := net.Listen("tcp", net.JoinHostPort(m.Setup.Address, "0"))
	if err != nil {
		panic(err)
	}
	say(control.Message{Kind: control.KindHello, Hello: &control.Hello{
		Proc: self, Version: control.Version, Address: "none", TCP: l.Addr().String(),
	}})
	for m.Kind != control.KindPeers {
		if m, err = control.ReadMessage(in); err != nil {
			panic(err)
		}
	}
	for _, p := range m.Peers {
		if p.Proc == self {
			continue
		}
		c, err := net.Dial("tcp", p.TCP)
		if err != nil {
			panic(err)
		}
		_, _ = c.Write([]byte("x"))
		_ = c.Close()
	}
	met := 0
	for range len(m.Peers) - 1 {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		n, _ := c.Read(make([]byte, 1))
		met += n
	}
	fmt.Println("met", met)
	say(control.Message{Kind: control.KindBye, Bye: &control.Bye{Proc: self}})
	return 0
}
