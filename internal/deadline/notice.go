package deadline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// noticeClock is what all notices have: how much time they leave. A notice that is the same as
// when it was seen before is the same moment.
type noticeClock struct {
	clock
	memo
	name  string
	grace time.Duration
}

// absent is the answer that there is no notice, or none any more.
func (n *noticeClock) absent() (*answer, error) {
	n.memo = memo{}
	return none, nil
}

// given is the answer that there is a notice, and when it came first.
func (n *noticeClock) given(text string, convert func() time.Time) *answer {
	return &answer{at: n.memo.at("notice "+text, convert), by: n.name, notice: true}
}

// said is the answer that there is a notice of which somebody says when: a time, a time left, or
// nothing, which leaves the grace. So does what is neither: it is a notice in any case.
func (n *noticeClock) said(text string, seen time.Time) (*answer, error) {
	text = strings.TrimSpace(text)
	if m, ok := parseNoticed(text, n.wall()); ok {
		return n.given(text, func() time.Time { return n.moment(m, seen) }), nil
	}
	a := n.given(text, func() time.Time { return seen.Add(n.grace) })
	if a.unsaid = true; text == "" {
		return a, nil
	}
	return a, fmt.Errorf("a notice says %.60q, which is neither a time nor a time left such as 2m: %v are left (CRAFT_GRACE)", text, n.grace)
}

// noticeFile is a file that appears.
type noticeFile struct {
	noticeClock
	path string
}

func (n *noticeFile) ask(context.Context) (*answer, error) {
	seen := time.Now()
	info, err := os.Stat(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return n.absent()
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return n.said("", seen)
	}
	text, err := readBeginning(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone since
		return n.absent()
	case err != nil:
		a, _ := n.said("", seen) // it is there, whatever it says
		return a, err
	}
	return n.said(text, seen)
}

func readBeginning(path string) (text string, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, maxOutput))
	return string(b), err
}

// noticeCommand is a command that ends with 0 when there is a notice, and with 1 when there is
// none.
type noticeCommand struct {
	noticeClock
	command string
}

func (n *noticeCommand) ask(ctx context.Context) (*answer, error) {
	began := time.Now()
	out, err := run(ctx, nil, "/bin/sh", "-c", n.command)
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay): // that is what it has left behind
		return n.said(out, began)
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return n.absent()
	}
	return nil, err
}
