package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/nonblock"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
)

// errSecond is what Join returns when another program of the rank was there before.
var errSecond = fmt.Errorf("%w: another program of this rank has joined the job before this one, and a rank can be one program only: give each program with a zone a craft run of its own (or make them one program with several zones)", ErrControl)

// connection leads to the daemon. It is two pipes: a socket that both ends poll wakes who has written when the other one
// reads.
type connection struct {
	up, down *os.File
	in       *bufio.Reader
	out      *nonblock.Writer
}

func newConnection(up, down *os.File) (connection, error) {
	out, err := up.SyscallConn()
	if err != nil {
		return connection{}, err
	}
	in, err := down.SyscallConn()
	return connection{up, down, bufio.NewReader(nonblock.NewReader(in)), nonblock.NewWriter(out)}, err
}

// connect takes the descriptors over.
func connect() (connection, error) {
	up, err := inheritedPipe(env.ControlUp, syscall.O_WRONLY)
	if err != nil {
		return connection{}, err
	}
	down, err := inheritedPipe(env.ControlDown, syscall.O_RDONLY)
	if err != nil {
		return connection{}, errors.Join(err, up.Close())
	}
	return newConnection(up, down)
}

func inheritedPipe(fd, access int) (*os.File, error) {
	syscall.CloseOnExec(fd)
	var is syscall.Stat_t
	err := syscall.Fstat(fd, &is)
	if err == nil && is.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		err = errors.New("not a pipe")
	}
	if err == nil {
		var flags int
		if flags, err = unix.FcntlInt(uintptr(fd), syscall.F_GETFL, 0); err == nil && flags&syscall.O_ACCMODE != access {
			err = errors.New("the wrong end of a pipe")
		}
	}
	own := fd
	if err == nil {
		own, err = nonblocking(fd, access)
	}
	if err != nil {
		return nil, notTheDaemon(fd, err)
	}
	return os.NewFile(uintptr(own), "daemon"), nil
}

// nonblocking is a descriptor of a pipe in place of another one that was inherited. It never blocks, as package nonblock
// wants it: of what is inherited the other programs of a script may change the mode. Where it cannot be opened anew the
// mode is that of all.
func nonblocking(fd, access int) (own int, err error) {
	own, err = syscall.Open(fmt.Sprintf("/proc/self/fd/%d", fd), access|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fd, syscall.SetNonblock(fd, true)
	}
	return own, syscall.Close(fd) // before the claim, which would end with it
}

// verify reports a pipe that is none to the daemon: a script has put another one in its place, its standard output
// perhaps, where a message would be lost without an error. identity is what the daemon says of the right one.
func (c connection) verify(identity uint64) error {
	if identity == 0 || proc.Identity(c.up) == identity {
		return nil
	}
	return notTheDaemon(env.ControlUp, errors.New("another pipe"))
}

func notTheDaemon(fd int, why error) error {
	return fmt.Errorf("%w: descriptor %d is not a connection to the daemon: %w; %s=%s says that it is one: craft run must start the program itself, not through mpirun or srun, and a script that it starts must leave descriptors %d and %d to the program; where a rank starts other programs on purpose, take %[4]s out of their environment",
		ErrNoJob, fd, why, env.Role, env.RoleRank, env.ControlUp, env.ControlDown)
}

// claim makes the connection this process's own. The programs that a script starts inherit the same one, and who
// reads from it takes what is meant for the other. False: another program has it, and goes on undisturbed if
// nothing is read. Where nobody can claim it that is noticed by what is read.
func (c connection) claim() bool { return proc.Claim(c.up) }

func (c connection) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c connection) Write(b []byte) (int, error) { return c.out.Write(b) }

func (c connection) SetReadDeadline(t time.Time) error  { return c.down.SetReadDeadline(t) }
func (c connection) SetWriteDeadline(t time.Time) error { return c.up.SetWriteDeadline(t) }

func (c connection) Close() error { return errors.Join(c.up.Close(), c.down.Close()) }
