package launch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookUp finds a program as a shell does, seen from dir, and returns its absolute
// path.
func lookUp(program, dir string) (string, error) {
	if program == "" {
		return "", errors.New("which program? none was named")
	}
	name := program
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("program %q is in no directory of PATH%s", program, besideIt(program, dir))
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("program %q: there is no file %s", program, name)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("program %q: %s cannot be executed (permissions, or a directory)", program, name)
	case err != nil:
		return "", fmt.Errorf("program %q: %w", program, err)
	}
	return filepath.Abs(path)
}

// besideIt is a hint for who has left out the "./".
func besideIt(program, dir string) string {
	if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() {
		return fmt.Sprintf("; did you mean ./%s?", program)
	}
	return ""
}

// identity tells different files apart. Across hosts it is the content; on one
// host the file is the same unless it is replaced just now.
func identity(path string, hosts int) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if hosts <= 1 {
		return fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05.000000000Z")), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	digest := sha256.New()
	if _, err := io.Copy(digest, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", info.Size(), digest.Sum(nil)), nil
}
